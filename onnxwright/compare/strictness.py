"""What two models must have in common to count as the same."""

from __future__ import annotations

from dataclasses import dataclass, fields

from typing_extensions import TypedDict


@dataclass(frozen=True)
class Strictness:
    """What two models must have in common; each part can be switched off.

    Attributes:
        io_names: names of inputs and outputs of models, graphs and functions.
        initializer_names: names of initializers.
        initializers: the numbers in initializers and constants (their types and shapes always).
        types: types of inputs and outputs.
        value_infos: types written for intermediate values.
        node_names, graph_names, subgraph_names: names of nodes, of the main graph or of
            a function that is compared by itself, of subgraphs.
        doc_strings: descriptions of everything.
        metadata: `metadata_props` of everything.
        opset_imports: versions of domains.
        ir_version: the version of the file format.
        producer: name and version of the producer, domain and version of the model.
        functions: model-local functions.
        attributes: attributes of nodes.
        commutative: operands of Add, Mul and the like may be in any order.
        folders: where the external data of the first and of the second is found.
    """

    io_names: bool = True
    initializer_names: bool = True
    initializers: bool = True
    types: bool = True
    value_infos: bool = True
    node_names: bool = False
    graph_names: bool = True
    subgraph_names: bool = False
    doc_strings: bool = True
    metadata: bool = True
    opset_imports: bool = True
    ir_version: bool = True
    producer: bool = True
    functions: bool = True
    attributes: bool = True
    commutative: bool = False
    folders: tuple[str, str] = ("", "")

    @classmethod
    def names(cls) -> list[str]:
        """The parts that can be switched."""
        return [f.name for f in fields(cls)]


class Parts(TypedDict, total=False):
    """The keywords of comparisons, as type checkers read them: the fields of `Strictness`."""

    io_names: bool
    initializer_names: bool
    initializers: bool
    types: bool
    value_infos: bool
    node_names: bool
    graph_names: bool
    subgraph_names: bool
    doc_strings: bool
    metadata: bool
    opset_imports: bool
    ir_version: bool
    producer: bool
    functions: bool
    attributes: bool
    commutative: bool
    folders: tuple[str, str]
