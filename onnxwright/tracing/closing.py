"""The end of building: outputs named, dead nodes removed, constants placed, a model or a function.

Everything here costs time in proportion to the size of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.unicode_text import unicode_checked
from onnxwright.ir import adapters
from onnxwright.ir.ir_versions import lowest_ir_version
from onnxwright.ir.nested import all_nodes, name_nodes, subgraphs
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.serialize import fill_body, model_to_proto
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.ir.verify import verify
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.version import __version__


@dataclass
class Closed:
    """A graph that is complete."""

    inputs: list[ir.Value]
    outputs: list[ir.Value]
    nodes: list[ir.Node]
    constants: list[ir.Value]  # those in use, named
    imports: dict[str, int]


@dataclass
class ModelFacts:
    """What a model says beside its graph.

    Fields:
        name: the name of the graph.
        ir_version: the IR version; by default the lowest that holds everything, at least 10.
        functions: model-local functions.
        producer_name: who made it.
        doc_string: a description.
        metadata: entries of `metadata_props`.
        keep_inputs: whether inputs that nothing reads stay.
        imports: further opsets and their versions.
        opened: the model that the graph was read from, which says the rest.
    """

    name: str = "main"
    ir_version: int | None = None
    functions: Sequence[ir.Function] = ()
    producer_name: str = "onnxwright"
    doc_string: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, int] = field(default_factory=dict)
    opened: ir.Model | None = None


def finalize(
    b: GraphBackend,
    outputs: Sequence[GraphValue],
    names: Sequence[str] | None = None,
    *,
    as_they_are: bool = False,
) -> Closed:
    """Finish the main graph.

    Args:
        b: the backend; only its main graph may be open.
        names: their names, in order.
        as_they_are: an output that is an input or an initializer of its name stays that.
    """
    recorder = b.recorder
    if len(recorder.scopes) != 1:
        raise AssertionError("a subgraph is still open")
    scope = recorder.scope
    if names is not None and len(names) != len(outputs):
        raise ValueError(f"{len(outputs)} outputs have {len(names)} names")
    final = _own_outputs(b, outputs, names, as_they_are=as_they_are)
    recorder.remove_dead(scope.nodes, final)
    if names is not None:
        _rename(b, final, names)
    shown = set(final)
    used = [v for v in b.pool if v.uses() or v in shown or v in b.pool.kept]
    for value in used:
        b.pool.name(value)
    imports = _imports(b, scope.nodes)
    opened = as_they_are or recorder.holds_given_nodes
    verify([*scope.inputs, *used], final, scope.nodes, imports, opened=opened)
    return Closed(list(scope.inputs), final, scope.nodes, used, imports)


def _own_outputs(
    b: GraphBackend,
    outputs: Sequence[GraphValue],
    names: Sequence[str] | None,
    *,
    as_they_are: bool,
) -> list[ir.Value]:
    """The outputs, each a different value that a node makes."""
    final: list[ir.Value] = []
    seen: set[ir.Value] = set()
    for n, output in enumerate(outputs):
        value = output.value
        same = as_they_are and names is not None and value.name == names[n]
        if (value.producer() is None and not same) or value in seen:
            hint = names[n] if names is not None else None
            value = _copy(b, value, hint)
        seen.add(value)
        final.append(value)
    return final


def _copy(b: GraphBackend, value: ir.Value, hint: str | None) -> ir.Value:
    """An Identity of an input, a constant or a value that is an output already."""
    recorder = b.recorder
    if value in b.pool:
        b.pool.name(value)
    (copy,) = recorder.node(
        "", "Identity", [value], [], 1, hint=hint or value.name, origin=recorder.last_origin
    )
    kind = recorder.type_of(value)
    recorder.set_type(copy, kind)
    adapters.set_type(copy, kind)
    b.recorder.use_opset("", b.opset.version, None)
    return copy


def _rename(b: GraphBackend, values: Sequence[ir.Value], names: Sequence[str]) -> None:
    """Give values exactly these names; whatever else has one of them gets another."""
    by_name = dict(zip(names, values, strict=True))
    if all(value.name == name for name, value in by_name.items()):
        return
    for value in b.recorder.scope.inputs:
        if by_name.get(value.name or "", value) is not value:
            what = f"an output cannot have the name of the input {quoted(value.name or '')}"
            raise_damage(Damage("structure", "the outputs of the graph", what))
    for holder in _values(b):
        mine = by_name.get(holder.name or "")
        if mine is not None and mine is not holder:
            holder.name = b.recorder.names.unique(holder.name or "value")
    for name, value in by_name.items():
        if value.name != name:
            b.recorder.names.unique(name)
            value.name = name


def _values(b: GraphBackend) -> Iterator[ir.Value]:
    yield from b.recorder.scope.inputs
    yield from b.pool
    for node in all_nodes(b.recorder.scope.nodes):
        yield from node.outputs
        if node.attributes.data:
            for graph in subgraphs(node):
                yield from graph.inputs


def _imports(b: GraphBackend, nodes: list[ir.Node]) -> dict[str, int]:
    """One version for each domain that is used."""
    used = {node.domain for node in all_nodes(nodes)}
    imports = {"": b.opset.version} if "" in used or not used else {}
    for domain in sorted(used - {""}):
        imports[domain] = max(b.recorder.opsets.get(domain, {1: None}))
    return imports


class ClosedModel:
    """A finished graph and what its model says: a model of onnx_ir, or a message, where asked.

    Args:
        b: the backend that built the graph.
        closed: the graph.
        facts: what else the model says.
    """

    def __init__(self, b: GraphBackend, closed: Closed, facts: ModelFacts) -> None:
        self.b = b
        self.closed = closed
        self.facts = facts

    def ir_model(self) -> ir.Model:
        """The model; it owns the graph."""
        closed, opened = self.closed, self.facts.opened
        for value in closed.constants:
            value.const_value = self.b.pool.as_tensor(value)
        graph = self._graph(closed)
        model = self._model(graph)
        if opened is not None:
            _as_opened(self.b, model, opened)
        return model

    def proto(self) -> onnx.ModelProto:
        """The same model as a message, for which no graph of onnx_ir is made."""
        closed = self.closed
        if self.facts.opened is not None or not _name_as_graph_does(closed.nodes):
            return model_to_proto(self.ir_model())
        proto = model_to_proto(self._model(self._graph(None)))
        held = [(value, self.b.pool.array_or_tensor(value)) for value in closed.constants]
        with unicode_checked():
            fill_body(proto.graph, closed.inputs, held, closed.nodes, closed.outputs)
        return proto

    def _graph(self, closed: Closed | None) -> ir.Graph:
        """A graph of this name: this one, or one that has nothing in it."""
        return ir.Graph(
            () if closed is None else closed.inputs,
            () if closed is None else closed.outputs,
            nodes=() if closed is None else closed.nodes,
            initializers=() if closed is None else closed.constants,
            opset_imports=dict(sorted(self._imports().items())),
            name=self.facts.name,
            doc_string=self.facts.doc_string,
        )

    def _imports(self) -> dict[str, int]:
        facts, imports = self.facts, dict(self.closed.imports)
        for function in facts.functions:
            for domain, version in function.opset_imports.items():
                imports[domain] = max(imports.get(domain, 0), version)
        imports.update(facts.imports)
        for function in facts.functions:
            imports.setdefault(function.domain, 1)
        return imports

    def _model(self, graph: ir.Graph) -> ir.Model:
        facts, types = self.facts, self.b.recorder.types
        return ir.Model(
            graph,
            ir_version=facts.ir_version or lowest_ir_version(self._imports(), types.values()),
            producer_name=facts.producer_name,
            producer_version=__version__ if facts.producer_name == "onnxwright" else None,
            doc_string=facts.doc_string,
            functions=facts.functions,
            metadata_props=dict(facts.metadata),
        )


def _name_as_graph_does(nodes: Sequence[ir.Node]) -> bool:
    """Give nodes the names that a graph of onnx_ir gives them; False where a value has no name."""
    taken: set[str | None] = set()
    count = 0
    for node in nodes:
        while node.name is None:
            name = f"node_{node.op_type}_{count}"
            count += 1
            if name not in taken:
                node.name = name
        taken.add(node.name)
        for value in node.outputs:
            if value.name is None:
                return False
    return True


def _as_opened(b: GraphBackend, model: ir.Model, opened: ir.Model) -> None:
    """Say what the model said that the graph was read from."""
    model.producer_version = opened.producer_version
    model.domain, model.model_version = opened.domain, opened.model_version
    graph, source = model.graph, opened.graph
    graph.doc_string = source.doc_string
    graph.metadata_props.update(source.metadata_props)
    for value in graph.initializers.values():
        kept = b.pool.sources.get(value)
        if kept is not None:
            value.metadata_props.update(kept.metadata_props)
            value.doc_string = kept.doc_string
    for name, value in source.initializers.items():
        if value.is_graph_input():
            ours = next((v for v in graph.inputs if v.name == name), None)
            if ours is not None:  # the default of an input
                ours.const_value = value.const_value
                graph.initializers[name] = ours


def ir_graph(b: GraphBackend, closed: Closed, doc_string: str | None = None) -> ir.Graph:
    """A finished graph with its constants as nodes: what a function holds."""
    nodes: list[ir.Node] = []
    outputs = list(closed.outputs)
    for value in closed.constants:
        attr = ir.Attr("value", ir.AttributeType.TENSOR, b.pool.as_tensor(value))
        node = ir.Node("", "Constant", [], [attr], num_outputs=1)
        constant = node.outputs[0]
        constant.name, constant.type, constant.shape = value.name, value.type, value.shape
        for user, n in list(value.uses()):
            user.replace_input_with(n, constant)
        outputs = [constant if output is value else output for output in outputs]
        nodes.append(node)
    imports = {"": b.opset.version, **closed.imports}
    nodes += closed.nodes
    name_nodes(nodes)
    return ir.Graph(
        closed.inputs,
        outputs,
        nodes=nodes,
        opset_imports=dict(sorted(imports.items())),
        doc_string=doc_string,
    )


__all__ = [
    "Closed",
    "ClosedModel",
    "ModelFacts",
    "all_nodes",
    "finalize",
    "ir_graph",
]
