"""Whether a body that was lowered for unknown element types is the one for those of a call.

What `x < 1.5`, `x.sum()` or `~x` becomes depends on the element type. A function that is lowered
once for all calls has one reading of them; a call whose types have another one is inlined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.recorded import KnownValues
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType


class SameBody:
    """Compares two bodies of one function, from their results on.

    Numbers are equal where that of unknown type, converted, is the other one.

    Args:
        generic: what is known of the values of the body that was lowered for unknown types.
        typed: what is known of those of the other.
    """

    def __init__(self, generic: KnownValues, typed: KnownValues) -> None:
        self.generic = generic
        self.typed = typed
        self.pairs: dict[ir.Value, ir.Value] = {}
        self.todo: list[tuple[ir.Value | None, ir.Value | None]] = []
        self.likes: list[tuple[ir.Value | None, ir.Value]] = []

    def same(self, generic: Any, typed: Any) -> bool:
        """Whether two lowered functions compute the same."""
        if len(generic.outputs) != len(typed.outputs):
            return False
        self.pairs.update(zip(generic.inputs, typed.inputs, strict=True))
        self.todo.extend(zip(generic.outputs, typed.outputs, strict=True))
        while self.todo:
            if not self._same_value(*self.todo.pop()):
                return False
        return all(self._has_type_of(like, value) for like, value in self.likes)

    def _same_value(self, a: ir.Value | None, b: ir.Value | None) -> bool:
        if a is None or b is None:
            return a is b
        if a in self.pairs:
            return self.pairs[a] is b
        self.pairs[a] = b
        node, other = a.producer(), b.producer()
        constant = self.typed.const_value(b)
        if constant is not None:
            number = self.generic.const_value(_converted(node, a))
            return number is not None and _same_number(number, constant)
        kept = "" if other is None else other.op_type
        if node is not None and node.op_type == "CastLike" and kept != "CastLike":
            # A number whose value only a run knows.
            self.likes.append((node.inputs[1], b))
            self.todo.append((node.inputs[0], other.inputs[0] if other and kept == "Cast" else b))
            return True
        if node is not None and node.op_type == "Cast" and kept != "Cast":
            # What has the type already is not converted.
            self.todo.append((node.inputs[0], b))
            return DType(node.attributes["to"].as_int()) is _dtype(self.typed, b)
        if node is None or other is None:
            return node is other and a.name == b.name
        if (node.op_identifier(), len(node.inputs), len(node.outputs)) != (
            other.op_identifier(), len(other.inputs), len(other.outputs),
        ) or list(node.attributes) != list(other.attributes):  # fmt: skip
            return False
        if node.outputs.index(a) != other.outputs.index(b):
            return False
        self.todo.extend(zip(node.inputs, other.inputs, strict=True))
        pairs = zip(node.attributes.values(), other.attributes.values(), strict=True)
        return all(self._same_attribute(x, y) for x, y in pairs)

    def _same_attribute(self, x: ir.Attr, y: ir.Attr) -> bool:
        if x.type is not y.type or x.ref_attr_name != y.ref_attr_name:
            return False
        if x.is_ref():
            return True
        for g, t in zip(_graphs(x), _graphs(y), strict=True):
            if len(g.inputs) != len(t.inputs) or len(g.outputs) != len(t.outputs):
                return False
            self.pairs.update(zip(g.inputs, t.inputs, strict=True))
            self.todo.extend(zip(g.outputs, t.outputs, strict=True))
        if x.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
            return True
        if x.type is ir.AttributeType.TENSOR:
            return _same_number(x.as_tensor().numpy(), y.as_tensor().numpy(), exact=True)
        return bool(x.value == y.value)

    def _has_type_of(self, like: ir.Value | None, value: ir.Value) -> bool:
        other = None if like is None else self.pairs.get(like)
        dtype = None if other is None else _dtype(self.typed, other)
        return dtype is not None and dtype is _dtype(self.typed, value)


def reads_as_double(nodes: Sequence[ir.Node], attribute: str) -> bool:
    """Whether a function computes in DOUBLE with a FLOAT that is given as an attribute."""
    for node in nodes:
        if node.op_type == "Constant" and any(
            a.ref_attr_name == attribute for a in node.attributes.values()
        ):
            for user, _ in node.outputs[0].uses():
                to = user.attributes.get("to") if user.op_type == "Cast" else None
                if to is not None and not to.is_ref() and to.as_int() == DType.DOUBLE:
                    return True
    return False


def _converted(node: ir.Node | None, value: ir.Value) -> ir.Value:
    """What a CastLike converts; every other value itself."""
    if node is not None and node.op_type == "CastLike" and node.inputs[0] is not None:
        return node.inputs[0]
    return value


def _graphs(attribute: ir.Attr) -> Iterator[ir.Graph]:
    if attribute.type is ir.AttributeType.GRAPH:
        yield attribute.as_graph()
    elif attribute.type is ir.AttributeType.GRAPHS:
        yield from attribute.as_graphs()


def _dtype(values: KnownValues, value: ir.Value) -> DType | None:
    kind = values.type_of(value)
    return kind.dtype if isinstance(kind, TensorType) else None


def _same_number(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], *, exact: bool = False) -> bool:
    if a.shape != b.shape or (exact and a.dtype != b.dtype):
        return False
    if object in (a.dtype, b.dtype):
        return bool(a.tolist() == b.tolist())
    with np.errstate(all="ignore"):
        converted = a.astype(b.dtype)
    return bool(converted.tobytes() == b.tobytes())
