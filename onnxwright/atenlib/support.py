"""What many bodies need: sizes, axes, casts and constants that vanish where they are known.

A *size* is a Python int, or, where only the run tells, a value of INT64 without dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.semantics.backend import is_value
from onnxwright.types.dtypes import DType

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


def cast(op: Any, x: Any, dtype: DType) -> Any:
    """A value in an element type; itself where it has it.

    Args:
        op: the operators.
        x: a value.
        dtype: the wanted type.

    Returns:
        The value.
    """
    return x if x.onnx_dtype is dtype else op.Cast(x, to=dtype)


def number(x: Any, dtype: DType) -> Any:
    """A Python number as one of the kind of a type; integers wrap around, as torch's do.

    Example:
        >>> number(-3, DType.UINT8), number(2, DType.FLOAT), number(0.5, DType.BOOL)
        (253, 2.0, True)
    """
    if dtype.is_float:
        return float(x)
    if dtype.is_bool:
        return bool(x)
    low = int(np.iinfo(dtype.numpy).min)
    return (int(x) - low) % 2**dtype.bits + low


def scalar(op: Any, x: Any, dtype: DType) -> Any:
    """A number, or a value without dimensions, as a value of an element type.

    Args:
        op: the operators.
        x: a Python number, or a value.
        dtype: the wanted type.

    Returns:
        A value of rank 0 (or the value given, cast).
    """
    if is_value(x):
        return cast(op, op.backend.as_weak(x, None), dtype)
    return op.constant(np.array(number(x, dtype), dtype.numpy))


def known_array(op: Any, x: Any) -> np.ndarray[Any, Any] | None:
    """The array a value is known to hold while building; never what an eager run computed.

    Args:
        op: the operators.
        x: a value.

    Returns:
        The array or None.
    """
    found: np.ndarray[Any, Any] | None = op.backend.constant_value(x)
    return found


def axis_of(dim: int, rank: int) -> int:
    """An axis counted from the front; a tensor without dimensions counts as having one.

    Example:
        >>> axis_of(-1, 3), axis_of(0, 0)
        (2, 0)
    """
    return dim % max(rank, 1)


def axes_of(dims: int | Sequence[int] | None, rank: int) -> list[int]:
    """Axes counted from the front; all of them for None or an empty list.

    Example:
        >>> axes_of([-1, 0], 3), axes_of(None, 2), axes_of([], 2)
        ([2, 0], [0, 1], [0, 1])
    """
    if isinstance(dims, int):
        dims = [dims]
    if not dims:
        return list(range(rank))
    return [axis_of(d, rank) for d in dims]


def size(op: Any, x: Any, axis: int) -> Any:
    """The size of one dimension: an int where it is known, else a value.

    Args:
        op: the operators.
        x: a value of known rank.
        axis: the dimension, may count from the end.

    Returns:
        A size.
    """
    known = x.shape[axis]
    if isinstance(known, int):
        return known
    axis %= x.rank
    return op.Squeeze(op.Shape(x, start=axis, end=axis + 1), [0])


def sizes(op: Any, x: Any) -> list[Any]:
    """All sizes of a value, each an int where it is known, else a value."""
    return [size(op, x, n) for n in range(x.rank)]


def vector(op: Any, numbers: Sequence[Any]) -> Any:
    """A list of sizes as one INT64 value of rank 1; a constant where all are ints.

    Args:
        op: the operators.
        numbers: ints and INT64 values of rank 0.

    Returns:
        A value of shape `[len(numbers)]`.
    """
    if all(isinstance(n, int) for n in numbers):
        return op.constant(np.array(numbers, np.int64).reshape(len(numbers)))
    parts: list[Any] = []
    run: list[int] = []
    for n in numbers:
        if isinstance(n, int):
            run.append(n)
            continue
        if run:
            parts.append(op.constant(np.array(run, np.int64)))
            run = []
        parts.append(op.Unsqueeze(scalar(op, n, DType.INT64), [0]))
    if run:
        parts.append(op.constant(np.array(run, np.int64)))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def product(op: Any, numbers: Sequence[Any]) -> Any:
    """The product of sizes: an int where all are ints, else a value."""
    known = math.prod(n for n in numbers if isinstance(n, int))
    result: Any = known
    for n in numbers:
        if not isinstance(n, int):
            n = scalar(op, n, DType.INT64)
            result = n if isinstance(result, int) and result == 1 else op.Mul(result, n)
    return result


def numel(op: Any, x: Any) -> Any:
    """The number of elements: an int where it is known, else a value."""
    if all(isinstance(d, int) for d in x.shape):
        return math.prod(x.shape)
    return op.Size(x)


def full(op: Any, shape: Sequence[Any], filling: Any, dtype: DType) -> Any:
    """A value of a shape filled with one number.

    Args:
        op: the operators.
        shape: sizes.
        filling: a Python number or a value of rank 0.
        dtype: the element type.

    Returns:
        The value.
    """
    if is_value(filling):
        return op.Expand(scalar(op, filling, dtype), vector(op, shape))
    one = np.array([number(filling, dtype)], dtype.numpy)
    return op.ConstantOfShape(vector(op, shape), value=one)


def full_like(op: Any, x: Any, filling: Any, dtype: DType | None = None) -> Any:
    """A value of the shape of another, filled with one number (of its type by default)."""
    dtype = dtype or x.onnx_dtype
    if all(isinstance(d, int) for d in x.shape):
        return full(op, x.shape, filling, dtype)
    if is_value(filling):
        return op.Expand(scalar(op, filling, dtype), op.Shape(x))
    one = np.array([number(filling, dtype)], dtype.numpy)
    return op.ConstantOfShape(op.Shape(x), value=one)


def least(dtype: DType) -> Any:
    """The lowest number of a type: minus infinity, or the lowest integer.

    Example:
        >>> least(DType.INT8), least(DType.FLOAT), least(DType.BOOL)
        (-128, -inf, False)
    """
    if dtype.is_bool:
        return False
    return -math.inf if dtype.is_float else int(np.iinfo(dtype.numpy).min)


def greatest(dtype: DType) -> Any:
    """The highest number of a type: infinity, or the highest integer.

    Example:
        >>> greatest(DType.UINT8), greatest(DType.FLOAT16)
        (255, inf)
    """
    if dtype.is_bool:
        return True
    return math.inf if dtype.is_float else int(np.iinfo(dtype.numpy).max)
