"""The greater and the smaller of tensors and numbers, limits, and choices by a condition."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

TWO = elementwise(("self", "other"))
NUMBERS = elementwise(("self", "other"), no_bfloat16=True)
LIMITS = elementwise(("self", "min", "max"))


@aten(
    "aten::maximum",
    "aten::max.other",
    "prims::maximum",
    rule=TWO,
    tests=[OpTest("maximum"), OpTest("max:binary")],
)
def maximum(op: Op, self: Value, other: Value) -> Value:
    """The greater of two; NaN where one is NaN."""
    return op.Or(self, other) if self.onnx_dtype.is_bool else op.Max(self, other)


@aten(
    "aten::minimum",
    "aten::min.other",
    "prims::minimum",
    rule=TWO,
    tests=[OpTest("minimum"), OpTest("min:binary")],
)
def minimum(op: Op, self: Value, other: Value) -> Value:
    """The smaller of two; NaN where one is NaN."""
    return op.And(self, other) if self.onnx_dtype.is_bool else op.Min(self, other)


@aten("aten::fmax", "prims::fmax", rule=NUMBERS)
def fmax(op: Op, self: Value, other: Value) -> Any:
    """The greater of two, a number before NaN."""
    if not self.onnx_dtype.is_float:
        return maximum.body(op, self, other)
    return _number_first(op, self, other, op.Max(self, other))


@aten("aten::fmin", "prims::fmin", rule=NUMBERS)
def fmin(op: Op, self: Value, other: Value) -> Any:
    """The smaller of two, a number before NaN."""
    if not self.onnx_dtype.is_float:
        return minimum.body(op, self, other)
    return _number_first(op, self, other, op.Min(self, other))


def _number_first(op: Op, a: Value, b: Value, both: Any) -> Value:
    return op.Where(op.IsNaN(a), b, op.Where(op.IsNaN(b), a, both))


@aten("aten::clamp", "aten::clamp.Tensor", "aten::clip", "aten::clip.Tensor", rule=LIMITS)
def clamp(
    op: Op, self: Value, min: Number | Value | None = None, max: Number | Value | None = None
) -> Value:
    """Keep to [min, max]; where min is above max the result is max."""
    if _are_scalars(op, min, max) and not self.onnx_dtype.is_bool:
        dtype = self.onnx_dtype
        low = None if min is None else scalar(op, min, dtype)
        high = None if max is None else scalar(op, max, dtype)
        return op.Clip(self, low, high)
    if min is not None:
        self = maximum.body(op, self, min)
    return self if max is None else minimum.body(op, self, max)


def _are_scalars(op: Op, *limits: Any) -> bool:
    return all(x is None or not is_value(x) or x.rank == 0 for x in limits)


@aten("aten::clamp_min", "aten::clamp_min.Tensor", rule=elementwise(("self", "min")))
def clamp_min(op: Op, self: Value, min: Number | Value) -> Any:
    """Nothing below min."""
    return maximum.body(op, self, min)


@aten("aten::clamp_max", "aten::clamp_max.Tensor", rule=elementwise(("self", "max")))
def clamp_max(op: Op, self: Value, max: Number | Value) -> Any:
    """Nothing above max."""
    return minimum.body(op, self, max)


@aten(
    "aten::where.self",
    "aten::where.ScalarSelf",
    "aten::where.ScalarOther",
    "aten::where.Scalar",
    rule=TWO,
    complex="parts",
)
def where(op: Op, condition: Value, self: Value | Number, other: Value | Number) -> Value:
    """An element of the one where a condition holds, of the other elsewhere."""
    condition = cast(op, condition, DType.BOOL)
    return op.Where(condition, *_two_values(op, self, other))


def _two_values(op: Op, a: Value | Number, b: Value | Number) -> tuple[Any, Any]:
    """Two values of one type, of which one or both may be Python numbers."""
    dtype = a.onnx_dtype if is_value(a) else b.onnx_dtype if is_value(b) else None
    if dtype is None:
        dtype = _TYPES[max(type(a), type(b), key=list(_TYPES).index)]
    first, second = (x if is_value(x) else scalar(op, x, dtype) for x in (a, b))
    return first, second


_TYPES = {bool: DType.BOOL, int: DType.INT64, float: DType.FLOAT}


@aten(
    "prims::where",
    rule=elementwise(("a", "b")),
    untested="prims: no OpInfo runs it",
    complex="parts",
)
def prims_where(op: Op, pred: Value, a: Value, b: Value) -> Any:
    """An element of the one where a condition holds, of the other elsewhere."""
    return where.body(op, pred, a, b)


@aten("aten::heaviside", rule=elementwise(("self", "values")))
def heaviside(op: Op, self: Value, values: Value) -> Value:
    """0 below zero, 1 above, `values` at zero (0 for NaN)."""
    dtype = self.onnx_dtype
    if dtype.is_bool:
        return op.Or(self, values)
    zero, one = scalar(op, 0, dtype), scalar(op, 1, dtype)
    step = op.Where(op.Greater(self, zero), one, zero)
    return op.Where(op.Equal(self, zero), values, step)
