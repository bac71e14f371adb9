"""Models of every kind opened as onnx_ir and returned in their kind: the one place of this package.

What is opened is a copy that shares its tensors with the model that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.ir.loading import open_ir_model
from onnxwright.ir.names import Namer
from onnxwright.ir.nested import all_graphs
from onnxwright.ir.serialize import to_proto

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
        source: a ModelProto, an `onnx_ir.Model`, a path, bytes, a file, an `ONNXProgram` or a
            compiled script.

    Returns:
        The copy, and what returns it as the kind that was given: a ModelProto for a ModelProto and
        for a script, an `ONNXProgram` for one, else an `onnx_ir.Model`.

    Raises:
        ModelError: as for `ir.loading.open_model`.
    """
    with_model = getattr(source, "with_model", None)
    if with_model is not None and isinstance(getattr(source, "model", None), ir.Model):
        return Opened(source.model.clone(), with_model)
    to_model_proto = getattr(source, "to_model_proto", None)
    plain = to_model_proto() if callable(to_model_proto) else source
    model: ir.Model = open_ir_model(plain, schemas=True)
    if isinstance(plain, onnx.ModelProto):
        return Opened(model, to_proto)
    return Opened(model.clone() if model is plain else model, lambda made: made)


def raise_version(model: ir.Model, version: int) -> None:
    """Convert a model to a newer opset version, if it is older.

    Args:
        model: the model; it is changed.
        version: the least version of the default domain.

    Raises:
        ConversionError: nodes have no equivalent in that version (OW870).
    """
    from onnxwright.optimizer.versions.api import convert_in_place

    owners: list[Any] = [model.graph, *model.functions.values()]
    versions = [owner.opset_imports.get("", version) for owner in owners]
    if min(versions) < version:
        convert_in_place(model, max(version, *versions))


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


__all__ = [
    "INT4_IR_VERSION", "Opened", "names_of", "opened", "raise_version", "root_graphs",
    "use_microsoft_domain",
]  # fmt: skip
