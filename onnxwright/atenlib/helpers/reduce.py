"""Reductions in any element type, and the precision they are computed in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.sizes import axes_of
from onnxwright.atenlib.protocols import Op, OpCall, Value
from onnxwright.types.dtypes import DType

HALVES = (DType.FLOAT16, DType.BFLOAT16)
# What ReduceSum and its kin take by their schemas; ReduceMax and ReduceMin take more.
_SUMMED = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64)
_COMPARED = (*_SUMMED, DType.INT8, DType.UINT8)


def in_working_type(op: Op, x: Value) -> Value:
    """A value in the type torch computes several steps in: FLOAT for the half types.

    Returns:
        The value, cast if it is FLOAT16 or BFLOAT16.
    """
    return op.Cast(x, to=DType.FLOAT) if x.onnx_dtype in HALVES else x


def reduced_axes(dims: int | Sequence[int] | None, rank: int) -> list[int]:
    """The axes of a reduction counted from the front; none for a tensor without dimensions.

    Example:
        >>> reduced_axes(-1, 3), reduced_axes(None, 2), reduced_axes([0], 0)
        ([2], [0, 1], [])
    """
    return axes_of(dims, rank) if rank else []


def reduce(op: Op, name: str, x: Value, axes: Sequence[int], keepdim: bool = False) -> Value:
    """A reduction by an ONNX operator, in a type that it takes, over axes counted from the front.

    Args:
        name: `"ReduceSum"`, `"ReduceMax"` ...
        x: a value of known rank.
        axes: the axes; none reduces nothing.
        keepdim: whether the axes stay, with size 1.

    Returns:
        A value of the type of `x`.
    """
    dtype = x.onnx_dtype
    if not axes:
        return _over_nothing(op, name, x)
    taken = _COMPARED if name in ("ReduceMax", "ReduceMin") else _SUMMED
    if dtype.is_bool and name in ("ReduceMax", "ReduceMin") and op.version < 20:
        x = op.Cast(x, to=DType.UINT8)
    elif dtype not in taken and not (dtype.is_bool and name in ("ReduceMax", "ReduceMin")):
        x = op.Cast(x, to=DType.INT32)
    over = list(axes) if len(axes) < x.rank else None
    call: OpCall = getattr(op, name)
    if over is None:
        value = call(x, keepdims=int(keepdim))
    else:
        value = call(x, op.constant(np.array(over, np.int64)), keepdims=int(keepdim))
    return cast(op, value, dtype)


def _over_nothing(op: Op, name: str, x: Value) -> Value:
    """Each element reduced alone."""
    if name == "ReduceSumSquare":
        return op.Mul(x, x)
    if name in ("ReduceL1", "ReduceL2"):
        return op.Abs(x)
    return x


def nan_anywhere(op: Op, x: Value, axes: Sequence[int], keepdim: bool = False) -> Value:
    """Whether there is a NaN along axes, as BOOL."""
    return reduce(op, "ReduceMax", op.IsNaN(x), axes, keepdim)


def extreme(op: Op, x: Value, axes: Sequence[int], keepdim: bool, largest: bool) -> Value:
    """The largest or smallest element along axes; NaN where there is one.

    Args:
        axes: the axes, counted from the front.
        keepdim: whether they stay, with size 1.
        largest: the largest, else the smallest.

    Returns:
        A value of the type of `x`.
    """
    largest_or_smallest = reduce(op, "ReduceMax" if largest else "ReduceMin", x, axes, keepdim)
    if not x.onnx_dtype.is_float or not axes:
        return largest_or_smallest
    # ONNX does not say what its reductions make of NaN; ONNX Runtime passes over most.
    return op.Where(
        nan_anywhere(op, x, axes, keepdim), scalar(op, np.nan, x.onnx_dtype), largest_or_smallest
    )
