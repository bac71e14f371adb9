"""Resizing of images of bytes with 16-bit weights, as torch does it on CPUs.

Source: torch's vectorized resizing of UINT8 images, after Pillow's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import iota, scalar
from onnxwright.atenlib.helpers.resampling import cubic_weights, ratio_of
from onnxwright.atenlib.helpers.shape import from_last, to_last
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.types.dtypes import DType

# Weights have 15 bits and a sign; their point is set by the largest.
_LARGEST = 2.0**15
_MOST_BITS = 22


def cubic_matrix(op: Op, n: Size, out: Size, scale: float | None, align: bool) -> Any:
    """The matrix of cubic interpolation along an axis; the edges are repeated beyond them.

    Args:
        scale: the factor that was asked for, if one was.
        align: whether the centres of the corner elements are laid upon each other.

    Returns:
        DOUBLE weights `[out, n]`.
    """
    dtype = DType.DOUBLE
    ratio = ratio_of(op, n, out, scale, align, dtype)
    steps = iota(op, out, dtype)
    place = op.Mul(steps, ratio) if align else op.Sub(op.Mul(op.Add(steps, 0.5), ratio), 0.5)
    low = op.Floor(place)
    last = op.Sub(scalar(op, n, dtype), 1)
    elements = iota(op, n, dtype)
    zero = scalar(op, 0, dtype)
    total: Any = None
    for offset, weight in zip(
        (-1, 0, 1, 2), cubic_weights(op, op.Sub(place, low), -0.75), strict=True
    ):
        index = op.Max(op.Min(op.Add(low, offset), last), 0)
        here = op.Equal(op.Unsqueeze(index, [1]), elements)
        part = op.Where(here, op.Unsqueeze(weight, [1]), zero)
        total = part if total is None else op.Add(total, part)
    return total


def resize_bytes(op: Op, x: Value, axis: int, weights: Any) -> Value:
    """One axis of an image of bytes resized by a matrix of weights.

    Args:
        x: whole numbers from 0 to 255 as DOUBLE.
        axis: the axis, counted from the front.
        weights: DOUBLE `[out, n]`.

    Returns:
        Whole numbers from 0 to 255 as DOUBLE.
    """
    largest = op.ReduceMax(weights, keepdims=0)
    powers = op.constant(2.0 ** np.arange(1, _MOST_BITS + 1))
    fits = op.Less(op.Add(op.Mul(powers, largest), 0.5), _LARGEST)
    unit = op.ReduceMax(op.Where(fits, powers, scalar(op, 1, DType.DOUBLE)), keepdims=0)
    scaled = op.Mul(weights, unit)
    whole = op.Mul(op.Sign(scaled), op.Floor(op.Add(op.Abs(scaled), 0.5)))
    rows = to_last(op, x, axis)
    sums = op.MatMul(rows, op.Transpose(whole, perm=[1, 0]))
    rounded = op.Floor(op.Div(op.Add(sums, op.Mul(unit, 0.5)), unit))
    return from_last(op, op.Max(op.Min(rounded, 255), 0), axis)
