"""Steps that many bodies share: reductions in any type, working precision, rearranging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.support import INT64_MAX, axes_of, cast, full, scalar, size
from onnxwright.semantics.backend import is_value
from onnxwright.types.dtypes import DType

HALVES = (DType.FLOAT16, DType.BFLOAT16)
NARROW_INTEGERS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
# What ReduceSum and its kin take by their schemas; ReduceMax and ReduceMin take more.
_SUMMED = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64)
_COMPARED = (*_SUMMED, DType.INT8, DType.UINT8)


def in_working_type(op: Any, x: Any) -> Any:
    """A value in the type torch computes several steps in: FLOAT for the half types.

    Args:
        op: the operators.
        x: a value.

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


def reduce(op: Any, name: str, x: Any, axes: Sequence[int], keepdim: bool = False) -> Any:
    """A reduction by an ONNX operator, in a type that it takes, over axes counted from the front.

    Args:
        op: the operators.
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
    if over is None:
        made = getattr(op, name)(x, keepdims=int(keepdim))
    else:
        made = getattr(op, name)(x, op.constant(np.array(over, np.int64)), keepdims=int(keepdim))
    return cast(op, made, dtype)


def _over_nothing(op: Any, name: str, x: Any) -> Any:
    """Each element reduced alone."""
    if name == "ReduceSumSquare":
        return op.Mul(x, x)
    if name in ("ReduceL1", "ReduceL2"):
        return op.Abs(x)
    return x


def nan_anywhere(op: Any, x: Any, axes: Sequence[int], keepdim: bool = False) -> Any:
    """Whether there is a NaN along axes, as BOOL."""
    return reduce(op, "ReduceMax", op.IsNaN(x), axes, keepdim)


def extreme(op: Any, x: Any, axes: Sequence[int], keepdim: bool, largest: bool) -> Any:
    """The largest or smallest element along axes; NaN where there is one.

    Args:
        op: the operators.
        x: a value.
        axes: the axes, counted from the front.
        keepdim: whether they stay, with size 1.
        largest: the largest, else the smallest.

    Returns:
        A value of the type of `x`.
    """
    found = reduce(op, "ReduceMax" if largest else "ReduceMin", x, axes, keepdim)
    if not x.onnx_dtype.is_float or not axes:
        return found
    # ONNX does not say what its reductions make of NaN; ONNX Runtime passes over most.
    return op.Where(nan_anywhere(op, x, axes, keepdim), scalar(op, np.nan, x.onnx_dtype), found)


def count_along(op: Any, x: Any, axes: Sequence[int]) -> Any:
    """How many elements a reduction over axes takes together: an int, or an INT64 value."""
    known = 1
    unknown: Any = None
    for axis in axes:
        length = size(op, x, axis)
        if isinstance(length, int):
            known *= length
        else:
            unknown = length if unknown is None else op.Mul(unknown, length)
    if unknown is None or known == 0:
        return known
    return unknown if known == 1 else op.Mul(unknown, known)


def is_known_zero(n: Any) -> bool:
    """Whether a size is known to be zero."""
    return isinstance(n, int) and n == 0


def as_number(op: Any, n: Any, dtype: DType) -> Any:
    """A size as a number of a type: a Python number, or a cast value of rank 0."""
    return cast(op, n, dtype) if is_value(n) else n


def iota(op: Any, n: Any, dtype: DType = DType.INT64) -> Any:
    """The numbers 0, 1, ... n - 1.

    Args:
        op: the operators.
        n: a size.
        dtype: the element type.

    Returns:
        A value of shape `[n]`.
    """
    if isinstance(n, int):
        return op.constant(np.arange(n).astype(dtype.numpy))
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    return cast(op, op.Range(op.constant(zero), n, op.constant(one)), dtype)


def iota_along(op: Any, x: Any, axis: int, dtype: DType = DType.INT64) -> Any:
    """The numbers 0, 1, ... along one axis of a value, size 1 in the axes after it.

    Args:
        op: the operators.
        x: a value; only its shape counts.
        axis: the axis, counted from the front.
        dtype: the element type.

    Returns:
        A value that broadcasts against `x`.
    """
    numbers = iota(op, size(op, x, axis), dtype)
    after = x.rank - 1 - axis
    return op.Unsqueeze(numbers, list(range(1, after + 1))) if after else numbers


def slice_axis(op: Any, x: Any, axis: int, start: Any, end: Any, step: int = 1) -> Any:
    """The elements from `start` to before `end` (None: the rest) along one axis.

    Args:
        op: the operators.
        x: a value.
        axis: the axis, counted from the front.
        start, end: sizes; negative ones count from the end.
        step: the step.

    Returns:
        A value.
    """

    def bound(n: Any) -> Any:
        if is_value(n):
            return op.Unsqueeze(n, [0])
        return op.constant(np.array([INT64_MAX if n is None else n], np.int64))

    return op.Slice(
        x,
        bound(start),
        bound(end),
        op.constant(np.array([axis], np.int64)),
        op.constant(np.array([step], np.int64)),
    )


def to_last(op: Any, x: Any, axis: int) -> Any:
    """The value with one axis moved behind the others."""
    if axis == x.rank - 1 or x.rank < 2:
        return x
    perm = [n for n in range(x.rank) if n != axis] + [axis]
    return op.Transpose(x, perm=perm)


def from_last(op: Any, x: Any, axis: int) -> Any:
    """The value with its last axis moved to a place; what `to_last` did, undone."""
    if axis == x.rank - 1 or x.rank < 2:
        return x
    perm = list(range(x.rank - 1))
    perm.insert(axis, x.rank - 1)
    return op.Transpose(x, perm=perm)


def flat(op: Any, x: Any) -> Any:
    """The value as one row of elements."""
    return x if x.rank == 1 else op.Reshape(x, op.constant(np.array([-1], np.int64)))


def at_least_1d(op: Any, x: Any) -> Any:
    """A value without dimensions as one with a dimension of one element."""
    return op.Unsqueeze(x, [0]) if x.rank == 0 else x


def reshape(op: Any, x: Any, shape: Sequence[Any]) -> Any:
    """A value in another shape.

    Args:
        op: the operators.
        x: a value.
        shape: sizes; -1 for one that follows from the others.

    Returns:
        The value; where more than one size is unknown, from a computed shape.
    """
    if 0 in [n for n in shape if isinstance(n, int)]:
        return full(op, list(shape), 0, x.onnx_dtype)
    parts = [n if isinstance(n, int) else op.Unsqueeze(n, [0]) for n in shape]
    if all(isinstance(n, int) for n in parts):
        return op.Reshape(x, op.constant(np.array(parts, np.int64)))
    rows = [op.constant(np.array([n], np.int64)) if isinstance(n, int) else n for n in parts]
    return op.Reshape(x, op.Concat(*rows, axis=0) if len(rows) > 1 else rows[0])
