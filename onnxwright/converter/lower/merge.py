"""How two values of one name become one: types that numbers, tensors and containers agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnxwright.converter.lower.values import AttributeRef, RunTimeContainer
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import (
    DEFAULT_DTYPE,
    as_value,
    cast,
    is_number_like,
    kind_of,
    own_array,
    plain_kind,
)
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.tracing.output_types import common_type
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType

KINDS = ("bool", "int", "float")
WEAK_DTYPE = {"bool": DType.BOOL, "int": DType.INT64, "float": DType.DOUBLE}


@dataclass(frozen=True)
class LeafType:
    """What a leaf is: a Python number known at run time (`weak`), or a tensor of `kind`.

    `kind` None is a value of unknown type.
    """

    weak: str | None
    kind: OnnxType | None

    def __str__(self) -> str:
        if self.weak is not None:
            return f"a Python {self.weak}"
        return str(self.kind) if self.kind is not None else "a tensor of unknown type"

    @property
    def dtype(self) -> DType | None:
        """The element type of a tensor."""
        return self.kind.dtype if isinstance(self.kind, TensorType) else None


def leaf_type(b: GraphBackend, x: Any) -> LeafType | None:
    """The type of a leaf, or None for an object that no graph value can represent."""
    if isinstance(x, AttributeRef):
        x = x.as_value(b)
    if isinstance(x, GraphValue):
        return LeafType(x.weak, x.kind)
    if isinstance(x, RunTimeContainer):
        return LeafType(None, x.kind)
    if is_value(x):
        return None
    kind = kind_of(x)
    if kind in KINDS:
        return LeafType(kind, TensorType(WEAK_DTYPE[kind], ()))
    if kind == "str":
        return LeafType(None, TensorType(DType.STRING, ()))
    array = own_array(x)
    if array is not None:
        return LeafType(None, TensorType(DType.from_numpy(array.dtype), array.shape))
    if isinstance(x, (list, tuple)) and is_number_like(x) and plain_kind(x) in DEFAULT_DTYPE:
        return LeafType(None, None)
    return None


def unify(a: LeafType, c: LeafType) -> LeafType | None:
    """The type that both can be brought to, or None where they clash."""
    if a.weak is not None and c.weak is not None:
        weak = max(a.weak, c.weak, key=KINDS.index)
        shape = _shape(a.kind, c.kind)
        return LeafType(weak, TensorType(WEAK_DTYPE[weak], shape))
    if a.weak is not None or c.weak is not None:
        strong, number = (c, a) if a.weak is not None else (a, c)
        if strong.kind is not None and not isinstance(strong.kind, TensorType):
            return None
        return LeafType(None, TensorType(strong.dtype, _shape(strong.kind, number.kind)))
    if a.dtype is not None and c.dtype is not None and a.dtype is not c.dtype:
        return None
    if (a.kind is not None) and (c.kind is not None) and type(a.kind) is not type(c.kind):
        return None
    return LeafType(None, _joined(a.kind, c.kind))


def _joined(a: OnnxType | None, c: OnnxType | None) -> OnnxType | None:
    if isinstance(a, TensorType) and isinstance(c, TensorType):
        return TensorType(a.dtype or c.dtype, _shape(a, c))
    if a is None or c is None:
        known = a or c
        return TensorType(known.dtype) if isinstance(known, TensorType) else known
    return common_type([a, c])


def _shape(a: OnnxType | None, c: OnnxType | None) -> tuple[int | str | None, ...] | None:
    shapes = [k.shape if isinstance(k, TensorType) else None for k in (a, c)]
    if shapes[0] is None or shapes[1] is None or len(shapes[0]) != len(shapes[1]):
        return None
    return tuple(x if x == y else None for x, y in zip(shapes[0], shapes[1], strict=True))


def bring(b: GraphBackend, x: Any, to: LeafType, like: GraphValue | None = None) -> GraphValue:
    """A leaf as a value of the given type, casts emitted in the innermost scope.

    `like` is a value with the wanted element type, for when that is not known by name.
    """
    if isinstance(x, AttributeRef):
        x = x.as_value(b)
    if to.weak is not None:
        target = WEAK_DTYPE[to.weak]
        if isinstance(x, GraphValue):
            return b.as_weak(cast(b, b.as_weak(x, None), target), to.weak)
        return b.as_weak(as_value(b, x, dtype=target), to.weak)
    dtype = to.dtype
    if isinstance(x, GraphValue) and x.weak is None:
        return x
    made: GraphValue = as_value(b, x, dtype=dtype, like=like if dtype is None else None)
    return made
