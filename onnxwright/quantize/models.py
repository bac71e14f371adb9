"""Models of every kind opened as onnx_ir and returned in their kind: the one place of this package.

What is opened is a copy that shares its tensors with the model that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from onnxwright.ir import door
from onnxwright.ir.names import Namer
from onnxwright.ir.nested import all_graphs
from onnxwright.versions.api import convert_in_place

INT4_IR_VERSION = 10
_MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class Opened:
    """A model that is rewritten.

    Fields:
        model: a copy, with the tensors of the model that was given.
        close: brings a model of onnx_ir into the kind that was given.
    """

    model: ir.Model
    close: Callable[[ir.Model], Any]


def opened(source: Any) -> Opened:
    """Open a model of any kind.

    Args:
        source: what `ow.load` takes.

    Returns:
        A copy, and what returns it as the kind that was given.

    Raises:
        ModelError: it is damaged, or the file cannot be read.
        ModelTypeError: it is not a model (OW752).
    """
    model = door.opened(source, schemas=True).clone()
    return Opened(model, lambda changed: door.returned(changed, source))


def raise_version(model: ir.Model, version: int, *, single: bool = False) -> None:
    """Convert a model to a newer opset version, if it is older.

    Args:
        model: the model; it is changed.
        version: the least version of the default domain.
        single: functions get the version of the model, so that they can be inlined.

    Raises:
        ConversionError: nodes have no equivalent in that version (OW870).
        ConversionValueError: the model or a function imports a version that does not exist
            (OW872).
    """
    owners: list[Any] = [model.graph, *model.functions.values()]
    versions = [owner.opset_imports.get("", version) for owner in owners]
    newest = max(version, *versions)
    if min(versions) < (newest if single else version):
        convert_in_place(model, newest)


def use_microsoft_domain(model: ir.Model) -> None:
    """Let a model and its functions import the operators of ONNX Runtime."""
    owners: list[Any] = [model.graph, *model.functions.values()]
    for owner in owners:
        owner.opset_imports.setdefault(_MICROSOFT, 1)


def root_graphs(model: ir.Model) -> Iterator[tuple[ir.Graph, bool]]:
    """The main graph and the graphs of functions, each with whether it is of a function."""
    yield model.graph, False
    for function in model.functions.values():
        yield function.graph, True


def names_of(model: ir.Model) -> Namer:
    """A source of names that no value of a model has, in whatever graph."""
    names = Namer()
    for root, _ in root_graphs(model):
        for graph in all_graphs(root):
            held = [*graph.inputs, *graph.initializers.values()]
            held += [value for node in graph for value in node.outputs]
            for value in held:
                if value.name:
                    names.unique(value.name)
    return names
