"""Cumulative functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import complex_math
from onnxwright.atenlib.helpers.complex_math import multiply
from onnxwright.atenlib.helpers.constants import cast, full, full_like, scalar, vector
from onnxwright.atenlib.helpers.reduce import in_working_type
from onnxwright.atenlib.helpers.shape import iota_along, slice_axis
from onnxwright.atenlib.helpers.sizes import axis_of
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol, XFail
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise, like, reduction
from onnxwright.types.dtypes import DType

Parts = list[Any]

# Torch multiplies one after another, and rounds each product in half types.
_HALVES = {"float16": Tol(5e-3, 1e-3), "bfloat16": Tol(5e-2, 1e-2)}

_BRANCH = XFail(
    "torch adds one after another, here in pairs: imaginary parts may differ by whole turns",
    dtypes=("complex64",),
    sometimes=True,
)

# Steps of a scan over a dynamic size: enough for 2^20 elements.
_STEPS = 20


@aten(
    "aten::cumsum",
    rule=reduction(promote="bool_to_long"),
    complex="parts",
    tests=[OpTest("cumsum", tol=_HALVES)],
)
def cumsum(op: Op, self: Value, dim: int, dtype: DType | None = None) -> Value:
    """The sums of the elements up to each, along an axis."""
    if self.rank == 0:
        return self
    own = self.onnx_dtype
    x = cast(op, self, DType.INT32) if own.bits < 32 and not own.is_float else self
    return cast(op, op.CumSum(x, op.constant(np.array(axis_of(dim, self.rank)))), own)


def scan(
    op: Op, parts: Parts, axis: int, combine: Callable[[Parts, Parts], Parts], start: Parts
) -> Parts:
    """The results of an associative function over the elements up to each, along an axis.

    In each step every element takes in the one 1, 2, 4 ... places before it.

    Args:
        parts: values of one shape that are combined together.
        axis: the axis, counted from the front.
        combine: from the parts of earlier and of later elements to the parts of both together.
        start: for each part the number that changes nothing when it comes before.
    """
    length = parts[0].shape[axis]
    if not isinstance(length, int):
        return _dynamic_scan(op, parts, axis, combine, start)
    distance = 1
    while distance < length:
        head = [slice_axis(op, x, axis, 0, distance) for x in parts]
        earlier = [slice_axis(op, x, axis, 0, -distance) for x in parts]
        later = [slice_axis(op, x, axis, distance, None) for x in parts]
        both = combine(earlier, later)
        parts = [op.Concat(a, b, axis=axis) for a, b in zip(head, both, strict=True)]
        distance *= 2
    return parts


def _dynamic_scan(
    op: Op, parts: Parts, axis: int, combine: Callable[[Parts, Parts], Parts], start: Parts
) -> Parts:
    """As `scan`, the steps taken in a loop that ends when they reach over the whole axis."""
    length = op.Squeeze(op.Shape(parts[0], start=axis, end=axis + 1), [0])
    fillings = [scalar(op, n, x.onnx_dtype) for n, x in zip(start, parts, strict=True)]
    rank = parts[0].rank
    shapes = [op.Shape(x) for x in parts]

    def body(_step: Any, _go: Any, distance: Any, *carried: Any) -> tuple[Any, ...]:
        before = [0] * (2 * rank)
        before[axis] = distance
        pads = vector(op, before)
        earlier = []
        for x, filling, shape in zip(carried, fillings, shapes, strict=True):
            shifted = op.Pad(x, pads, filling)
            none = op.constant(np.zeros(rank, np.int64))
            earlier.append(op.Slice(shifted, none, shape))
        both = combine(earlier, list(carried))
        further = op.Mul(distance, 2)
        return (op.Less(further, length), further, *both)

    one = op.constant(np.array(1, np.int64))
    _, *results = op.Loop(
        op.constant(np.array(_STEPS, np.int64)),
        op.Less(one, length),
        one,
        *parts,
        body=body,
        _outputs=1 + len(parts),
    )
    return list(results)


@aten(
    "aten::cumprod",
    rule=reduction(promote="bool_to_long"),
    tests=[OpTest("cumprod", tol=_HALVES)],
)
def cumprod(op: Op, self: Value, dim: int, dtype: DType | None = None) -> Value:
    """The products of the elements up to each, along an axis."""
    if self.rank == 0:
        return self
    own = self.onnx_dtype
    x = in_working_type(op, self)
    if own.is_bool:
        x = op.Cast(x, to=DType.INT32)
    axis = axis_of(dim, self.rank)
    return cast(op, scan(op, [x], axis, lambda a, b: [op.Mul(a[0], b[0])], [1])[0], own)


@cumprod.on_complex
def _cumprod_complex(op: Op, self: Complex, dim: int, dtype: DType | None = None) -> Complex:
    if self.rank == 0:
        return self

    def combine(a: Parts, b: Parts) -> Parts:
        product = multiply(op, Complex(*a), Complex(*b))
        return [product.real, product.imag]

    axis = axis_of(dim, self.rank)
    return Complex(*scan(op, [self.real, self.imag], axis, combine, [1, 0]))


def _cumulative_extreme(op: Op, x: Value, dim: int, largest: bool) -> tuple[Any, Any]:
    """The extremes so far and the last positions where they occurred; NaN stays."""
    if x.rank == 0:
        return x, full(op, [], 0, DType.INT64)
    dtype = x.onnx_dtype
    axis = axis_of(dim, x.rank)
    values = cast(op, x, DType.INT32) if dtype.bits < 32 and not dtype.is_float else x
    values = op.Cast(values, to=DType.FLOAT) if dtype is DType.BFLOAT16 else values
    places = op.Add(full_like(op, x, 0, DType.INT64), iota_along(op, x, axis))

    def combine(a: Parts, b: Parts) -> Parts:
        compare = op.GreaterOrEqual if largest else op.LessOrEqual
        newer = compare(b[0], a[0])
        if dtype.is_float:
            newer = op.Or(newer, op.IsNaN(b[0]))
        # The padding in front of a dynamic axis has no position.
        newer = op.Or(newer, op.Less(a[1], 0))
        return [op.Where(newer, b[0], a[0]), op.Where(newer, b[1], a[1])]

    values, indices = scan(op, [values, places], axis, combine, [0, -1])
    return cast(op, values, dtype), indices


@aten("aten::cummax", rule=like())
def cummax(op: Op, self: Value, dim: int) -> tuple[Value, ...]:
    """The largest elements so far along an axis, and the last positions where they occurred."""
    return _cumulative_extreme(op, self, dim, largest=True)


@aten("aten::cummin", rule=like())
def cummin(op: Op, self: Value, dim: int) -> tuple[Value, ...]:
    """The smallest elements so far along an axis, and the last positions where they occurred."""
    return _cumulative_extreme(op, self, dim, largest=False)


@aten(
    "aten::logcumsumexp",
    rule=elementwise(promote="int_to_float"),
    tests=[OpTest("logcumsumexp", tol=_HALVES, xfail=[_BRANCH])],
)
def logcumsumexp(op: Op, self: Value, dim: int) -> Any:
    """The logarithms of the sums of the exponentials up to each element, along an axis."""
    if self.rank == 0:
        return self
    x = in_working_type(op, self)

    def combine(a: Parts, b: Parts) -> Parts:
        high, low = op.Max(a[0], b[0]), op.Min(a[0], b[0])
        added = op.Add(high, op.Log(op.Add(op.Exp(op.Sub(low, high)), 1)))
        # Equal infinities have no difference.
        return [op.Where(op.IsInf(high), high, added)]

    axis = axis_of(dim, self.rank)
    return scan(op, [x], axis, combine, [-float("inf")])[0]


@logcumsumexp.on_complex
def _logcumsumexp_complex(op: Op, self: Complex, dim: int) -> Complex:
    if self.rank == 0:
        return self

    def combine(a: Parts, b: Parts) -> Parts:
        # The imaginary part continues from that of the larger, beyond pi if need be.
        swap = op.Less(a[0], b[0])
        high = Complex(*[op.Where(swap, y, x) for x, y in zip(a, b, strict=True)])
        low = Complex(*[op.Where(swap, x, y) for x, y in zip(a, b, strict=True)])
        away = complex_math.exp(op, complex_math.subtract(op, low, high))
        more = complex_math.log(op, Complex(op.Add(away.real, 1), away.imag))
        total = complex_math.add(op, high, more)
        endless = op.IsInf(high.real)
        return [op.Where(endless, high.real, total.real), op.Where(endless, high.imag, total.imag)]

    axis = axis_of(dim, self.rank)
    return Complex(*scan(op, [self.real, self.imag], axis, combine, [-float("inf"), 0]))
