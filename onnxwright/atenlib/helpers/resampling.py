"""Resizing along one axis by gathers and products, for what ONNX's Resize does not do exactly.

Positions, weights and windows are computed with operators, so that sizes may be dynamic; what is
known folds to constants.  Source: torch's UpSampleKernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, iota, scalar
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.types.dtypes import DType

# The reach of each filter of the resizing with antialiasing, in elements of the source.
REACH = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}


def ratio_of(op: Op, n: Size, out: Size, scale: float | None, align: bool, dtype: DType) -> Value:
    """How many elements of the source one element of the result covers.

    Args:
        scale: the factor that was asked for, if one was.
        align: whether the centres of the corner elements are laid upon each other.
        dtype: the type to compute in.

    Returns:
        A value of rank 0.
    """
    if align:
        if isinstance(n, int) and isinstance(out, int):
            return scalar(op, (n - 1) / (out - 1) if out > 1 else 0.0, dtype)
        steps = op.Max(op.Sub(scalar(op, out, dtype), 1), 1)
        whole = op.Div(op.Sub(scalar(op, n, dtype), 1), steps)
        return op.Where(op.Greater(scalar(op, out, dtype), 1), whole, scalar(op, 0, dtype))
    if scale is not None:
        return scalar(op, 1.0 / scale, dtype)
    if isinstance(n, int) and isinstance(out, int):
        return scalar(op, n / out, dtype)
    return op.Div(scalar(op, n, dtype), scalar(op, out, dtype))


def nearest_places(op: Op, n: Size, out: Size, scale: float | None, exact: bool) -> Value:
    """Which element of the source each of the result is.

    Args:
        scale: the factor that was asked for, if one was.
        exact: whether the nearest to the centre is meant, and not to the lower edge.

    Returns:
        INT64 of shape `[out]`.
    """
    ratio = ratio_of(op, n, out, scale, False, DType.FLOAT)
    steps = iota(op, out, DType.FLOAT)
    if exact:
        steps = op.Add(steps, 0.5)
    places = op.Cast(op.Floor(op.Mul(steps, ratio)), to=DType.INT64)
    return op.Min(places, _last(op, n))


def _last(op: Op, n: Size) -> Value:
    return op.Sub(scalar(op, n, DType.INT64), 1)


def resize_nearest(
    op: Op, x: Value, axis: int, n: Size, out: Size, scale: float | None, exact: bool
) -> Value:
    """One axis resized to the nearest elements."""
    return op.Gather(x, nearest_places(op, n, out, scale, exact), axis=axis)


def resize_smooth(
    op: Op, x: Value, axis: int, n: Size, out: Size, scale: float | None, align: bool, cubic: bool
) -> Any:
    """One axis resized by sums of two (linear) or four (cubic) neighbours.

    Args:
        axis: the axis, counted from the front.
        scale: the factor that was asked for, if one was.
        align: whether the centres of the corner elements are laid upon each other.

    Returns:
        A value of the type of `x`.
    """
    dtype = x.onnx_dtype
    ratio = ratio_of(op, n, out, scale, align, dtype)
    steps = iota(op, out, dtype)
    if align:
        position = op.Mul(steps, ratio)
    else:
        position = op.Sub(op.Mul(op.Add(steps, 0.5), ratio), 0.5)
        if not cubic:
            position = op.Max(position, 0)
    low = op.Floor(position)
    share = op.Sub(position, low)
    first = op.Cast(low, to=DType.INT64)
    if cubic:
        weights = cubic_weights(op, share, -0.75)
        offsets: tuple[int, ...] = (-1, 0, 1, 2)
    else:
        weights = [op.Sub(1, share), share]
        offsets = (0, 1)
    after = x.rank - 1 - axis
    total: Any = None
    for offset, weight in zip(offsets, weights, strict=True):
        index = op.Add(first, offset) if offset else first
        index = op.Max(op.Min(index, _last(op, n)), 0)
        shaped = op.Unsqueeze(weight, list(range(1, after + 1))) if after else weight
        part = op.Mul(op.Gather(x, index, axis=axis), shaped)
        total = part if total is None else op.Add(total, part)
    return total


def cubic_weights(op: Op, share: Any, a: float) -> list[Any]:
    """The weights of the four neighbours of a place between the second and the third.

    Args:
        share: how far the place is from the second, 0 to 1.
        a: the parameter of the cubic convolution.

    Returns:
        Four values of the shape of `share`.
    """

    def near(x: Value) -> Value:
        return op.Add(op.Mul(op.Mul(op.Sub(op.Mul(x, a + 2), a + 3), x), x), 1)

    def far(x: Value) -> Value:
        inner = op.Add(op.Mul(op.Sub(op.Mul(x, a), 5 * a), x), 8 * a)
        return op.Sub(op.Mul(inner, x), 4 * a)

    rest = op.Sub(1, share)
    return [far(op.Add(share, 1)), near(share), near(rest), far(op.Add(rest, 1))]


def _triangle(op: Op, x: Value) -> Value:
    return op.Max(op.Sub(1, op.Abs(x)), 0)


def _cubic(op: Op, x: Value) -> Value:
    x = op.Abs(x)
    a = -0.5
    near = op.Add(op.Mul(op.Mul(op.Sub(op.Mul(x, a + 2), a + 3), x), x), 1)
    far = op.Sub(op.Mul(op.Add(op.Mul(op.Sub(op.Mul(x, a), 5 * a), x), 8 * a), x), 4 * a)
    zero = scalar(op, 0, x.onnx_dtype)
    return op.Where(op.Less(x, 1), near, op.Where(op.Less(x, 2), far, zero))


def _lanczos(op: Op, x: Value) -> Value:
    dtype = x.onnx_dtype
    one, zero = scalar(op, 1, dtype), scalar(op, 0, dtype)

    def sinc(x: Value) -> Value:
        turned = op.Mul(x, math.pi)
        safe = op.Where(op.Equal(x, zero), one, turned)
        return op.Where(op.Equal(x, zero), one, op.Div(op.Sin(safe), safe))

    inside = op.Less(op.Abs(x), 3)
    return op.Where(inside, op.Mul(sinc(x), sinc(op.Div(x, 3))), zero)


_FILTERS: dict[str, Callable[[Any, Any], Any]] = {
    "linear": _triangle,
    "cubic": _cubic,
    "lanczos": _lanczos,
}


def antialias_weights(
    op: Op, n: Size, out: Size, scale: float | None, align: bool, mode: str, dtype: DType
) -> Value:
    """The matrix that resizes one axis with antialiasing.

    Args:
        scale: the factor that was asked for, if one was.
        align: whether the centres of the corner elements are laid upon each other.
        mode: "linear", "cubic" or "lanczos".
        dtype: the type to compute in.

    Returns:
        A value of shape `[out, n]`.
    """
    ratio = ratio_of(op, n, out, scale, align, dtype)
    stretch = op.Max(ratio, 1)
    reach = op.Mul(stretch, REACH[mode])
    centre = op.Unsqueeze(op.Mul(op.Add(iota(op, out, dtype), 0.5), ratio), [1])
    places = iota(op, n, dtype)
    # A window begins and ends at whole elements, as an integer cast of the C code cuts it.
    begin = _whole(op, op.Max(op.Add(op.Sub(centre, reach), 0.5), 0))
    end = _whole(op, op.Add(op.Add(centre, reach), 0.5))
    inside = op.And(op.GreaterOrEqual(places, begin), op.Less(places, end))
    away = op.Div(op.Add(op.Sub(places, centre), 0.5), stretch)
    weights = op.Where(inside, _FILTERS[mode](op, away), scalar(op, 0, dtype))
    total = op.ReduceSum(weights, op.constant(np.array([1])), keepdims=1)
    safe = op.Where(op.Equal(total, scalar(op, 0, dtype)), scalar(op, 1, dtype), total)
    return op.Div(weights, safe)


def _whole(op: Op, x: Value) -> Value:
    return cast(op, op.Cast(x, to=DType.INT64), x.onnx_dtype)
