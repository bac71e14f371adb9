"""The first difference between two models, and how its nodes, values and places are shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import onnx

from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.diagnostics.text import clean


@dataclass(frozen=True)
class Mismatch:
    """The first difference found.

    Attributes:
        what: what differs.
        left, right: what each side has.
        where: how it was reached, outermost first.
    """

    what: str
    left: str = ""
    right: str = ""
    where: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.what]
        lines += [f"  in {step}" for step in self.where]
        if self.left or self.right:
            lines += [f"  first:  {_short(self.left)}", f"  second: {_short(self.right)}"]
        return "\n".join(map(clean, lines))


def _short(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else f"{text[: limit - 20]} ... ({len(text)} characters)"


Place: TypeAlias = "tuple[str, ...] | ProtoNode | ProtoValue"
"""Where something differs: a node, a value, or the graphs around it."""


class ConflictError(Exception):
    """Raised where two things that were to be matched differ."""

    def __init__(self, mismatch: Mismatch) -> None:
        self.mismatch = mismatch


def show_node(node: ProtoNode) -> str:
    """A node on one line, without its attributes."""
    p = node.proto
    name = f"{p.domain}::{p.op_type}" if p.domain else p.op_type
    return f"{', '.join(p.output)} = {name}({', '.join(p.input)})"


def show_value(w: ProtoValue) -> str:
    """A value and where it comes from."""
    if w.graph is None:
        return f"`{w.name}`, which is not defined"
    if w.tensor is not None:
        return f"initializer `{w.name}`"
    if w.producer is not None:
        return f"`{w.name}`, output of {w.producer.proto.op_type}"
    return f"input `{w.name}`"


def path_of(graph: ProtoGraph) -> tuple[str, ...]:
    """The graphs around a place, outermost first."""
    steps: list[str] = []
    current: ProtoGraph | None = graph
    while current is not None:
        steps.append(current.label)
        current = current.outer
    return tuple(reversed(steps))


def place_of_node(node: ProtoNode) -> tuple[str, ...]:
    """A node and the graphs around it."""
    name = f" `{node.proto.name}`" if node.proto.name else ""
    return (*path_of(node.graph), f"node {node.number}{name}: {show_node(node)}")


def place_of_value(w: ProtoValue) -> tuple[str, ...]:
    """The node that makes a value, or its graph."""
    if w.producer is not None:
        return place_of_node(w.producer)
    return path_of(w.graph) if w.graph is not None else ()


def place_of(where: Place) -> tuple[str, ...]:
    """A place in words, computed only where something differs."""
    if isinstance(where, ProtoNode):
        return place_of_node(where)
    return place_of_value(where) if isinstance(where, ProtoValue) else where


def show_tensor(w: ProtoValue) -> str:
    """An initializer, with its numbers where they are few."""
    t = w.tensor
    if isinstance(t, onnx.TensorProto):
        kind = onnx.TensorProto.DataType.Name(t.data_type)
        if _count(t) <= 16 and t.data_location != onnx.TensorProto.EXTERNAL:
            return f"`{w.name}` {kind}{list(t.dims)} {_numbers(t)}"
        return f"`{w.name}` {kind}{list(t.dims)}"
    return f"`{w.name}`, sparse" if t is not None else f"`{w.name}`"


def _count(t: onnx.TensorProto) -> int:
    """How many numbers or, where there are none, empty lists are written."""
    return math.prod(d for d in t.dims if d)


def _numbers(t: onnx.TensorProto) -> str:
    try:
        return str(onnx.numpy_helper.to_array(t).tolist())
    except (ValueError, TypeError):
        return ""


def show_type(proto: onnx.TypeProto) -> str:
    """A type as ONNX prints it."""
    if proto.WhichOneof("value") is None:
        return "no type"
    return onnx.helper.printable_type(proto)


def show_attribute(attr: onnx.AttributeProto | None) -> str:
    """An attribute as ONNX prints it."""
    if attr is None:
        return "not there"
    try:
        return str(onnx.helper.printable_attribute(attr))
    except (ValueError, TypeError):
        return attr.name
