"""Numbers and constants: casts, scalars, filled tensors, ranges; they vanish where known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from onnxwright.atenlib.protocols import Number, Op, Size, Value, is_value
from onnxwright.types.dtypes import DType

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

# A range longer than this is a Range node; one up to 4 KB is folded to a constant by a graph.
_SHORT = 16
# A table with more elements than this is computed in the graph, so that no model grows with the
# sizes of its tensors.
_SMALL_TABLE = 512


def cast(op: Op, x: Value, dtype: DType) -> Value:
    """A value in an element type; itself where it has it."""
    return x if x.onnx_dtype is dtype else op.Cast(x, to=dtype)


def number(x: Number, dtype: DType) -> bool | int | float:
    """A Python number as one of the kind of a type; integers wrap around, as torch's do.

    Example:
        >>> number(-3, DType.UINT8), number(2, DType.FLOAT), number(0.5, DType.BOOL)
        (253, 2.0, True)
    """
    if dtype.is_bool:
        return bool(x)
    if dtype.is_float:
        return float(x)
    low, count = int(np.iinfo(dtype.numpy).min), 1 << dtype.bits
    return (int(x) - low) % count + low


def scalar(op: Op, x: Number | Value, dtype: DType) -> Value:
    """A number, or a value without dimensions, as a value of an element type.

    Args:
        x: a Python number, or a value.

    Returns:
        A value of rank 0 (or the value given, cast).
    """
    if is_value(x):
        return cast(op, op.backend.as_weak(x, None), dtype)
    return op.constant(np.array(number(x, dtype), dtype.numpy))


def known_array(op: Op, x: Value) -> Array | None:
    """The array a value is known to hold while building; never what an eager run computed.

    Returns:
        The array or None.
    """
    return op.backend.constant_value(x)


def vector(op: Op, numbers: Sequence[Size]) -> Value:
    """A list of sizes as one INT64 value of rank 1; a constant where all are ints.

    Args:
        numbers: ints and INT64 values of rank 0.

    Returns:
        A value of shape `[len(numbers)]`.
    """
    if all(isinstance(n, int) for n in numbers):
        return op.constant(np.array(numbers, np.int64).reshape(len(numbers)))
    parts: list[Value] = []
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


def full(op: Op, shape: Sequence[Size], filling: Number | Value, dtype: DType) -> Value:
    """A value of a shape filled with one number.

    Args:
        filling: a Python number or a value of rank 0.
        dtype: the element type.
    """
    return _filled(op, vector(op, shape), filling, dtype)


def full_like(op: Op, x: Value, filling: Number | Value, dtype: DType | None = None) -> Value:
    """A value of the shape of another, filled with one number (of its type by default)."""
    return _filled(op, shape_vector(op, x), filling, dtype or x.onnx_dtype)


def _filled(op: Op, shape: Value, filling: Number | Value, dtype: DType) -> Value:
    if is_value(filling):
        return op.Expand(scalar(op, filling, dtype), shape)
    one = np.array([number(filling, dtype)], dtype.numpy)
    return op.ConstantOfShape(shape, value=one)


def shape_vector(op: Op, x: Value) -> Value:
    """The shape as an INT64 value of rank 1; a constant where it is known."""
    numbers = [d for d in x.shape if isinstance(d, int)]
    return vector(op, numbers) if len(numbers) == x.rank else op.Shape(x)


def is_small(*sizes: Size) -> bool:
    """Whether a table of these sizes is small enough to be a constant of the model.

    Example:
        >>> is_small(8, 8), is_small(300, 300)
        (True, False)
    """
    numbers = [n for n in sizes if isinstance(n, int)]
    return len(numbers) == len(sizes) and math.prod(numbers) <= _SMALL_TABLE


def iota(op: Op, n: Size, dtype: DType = DType.INT64) -> Value:
    """The numbers 0, 1, ... n - 1: a constant if there are few, else a Range.

    Args:
        dtype: the element type.

    Returns:
        A value of shape `[n]`.
    """
    if isinstance(n, int) and n <= _SHORT:
        return op.constant(np.arange(n).astype(dtype.numpy))
    zero, stop, one = (scalar(op, v, DType.INT64) for v in (0, n, 1))
    return cast(op, op.Range(zero, stop, one), dtype)


def least(dtype: DType) -> bool | int | float:
    """The lowest number of a type: minus infinity, or the lowest integer.

    Example:
        >>> least(DType.INT8), least(DType.FLOAT), least(DType.BOOL)
        (-128, -inf, False)
    """
    if dtype.is_bool:
        return False
    return -math.inf if dtype.is_float else int(np.iinfo(dtype.numpy).min)


def greatest(dtype: DType) -> bool | int | float:
    """The highest number of a type: infinity, or the highest integer.

    Example:
        >>> greatest(DType.UINT8), greatest(DType.FLOAT16)
        (255, inf)
    """
    if dtype.is_bool:
        return True
    return math.inf if dtype.is_float else int(np.iinfo(dtype.numpy).max)
