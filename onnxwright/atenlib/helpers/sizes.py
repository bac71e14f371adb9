"""Axes and sizes: a size is an int, or an INT64 value where only the run knows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeGuard

import numpy as np

from onnxwright.atenlib.helpers.constants import scalar
from onnxwright.atenlib.protocols import Op, Size, Value, is_value
from onnxwright.atenlib.unsupported import unsupported
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import Dim, Shape


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


def size(op: Op, x: Value, axis: int) -> Size:
    """The size of one dimension: an int where it is known, else a value.

    Args:
        axis: the dimension, may count from the end.
    """
    length = x.shape[axis]
    if isinstance(length, int):
        return length
    axis %= x.rank
    return op.Squeeze(op.Shape(x, start=axis, end=axis + 1), [0])


def sizes(op: Op, x: Value) -> list[Size]:
    """All sizes of a value, each an int where it is known, else a value."""
    return [size(op, x, n) for n in range(x.rank)]


def sizes_with(op: Op, x: Value, axis: int, n: Size) -> list[Size]:
    """The sizes of a value with one of them replaced."""
    every = sizes(op, x)
    every[axis] = n
    return every


def static(shape: Sequence[Dim | Value]) -> TypeGuard[Sequence[int]]:
    """Whether every dimension or size is an int.

    Example:
        >>> static([2, 3]), static([2, "N"])
        (True, False)
    """
    return all(isinstance(d, int) for d in shape)


def known_sizes(shape: Shape) -> list[int]:
    """Dimensions that have to be known, as those of kernels are."""
    if not static(shape):
        unsupported(f"a kernel of unknown size: {shape}")
    return list(shape)


def dim_of(n: Size) -> Dim:
    """What is known of a size: an int, a name or an expression of names, or None.

    Example:
        >>> dim_of(3)
        3
    """
    if isinstance(n, int):
        return n
    dim: Dim | Shape = getattr(n, "dims", None)
    return None if isinstance(dim, tuple) else dim


def same_size(n: Size, dim: Dim) -> bool:
    """Whether a size is known to equal a dimension of a shape."""
    number = dim_of(n)
    return number is not None and number == dim


def same_shape(x: Value, y: Value) -> bool:
    """Whether two values are known to have one shape."""
    if x.rank != y.rank:
        return False
    return all(a is not None and a == b for a, b in zip(x.shape, y.shape, strict=True))


def is_known_zero(n: Size | None) -> bool:
    """Whether a size is known to be zero."""
    return isinstance(n, int) and n == 0


def is_known_one(n: Size | str | None) -> bool:
    """Whether a size is surely one."""
    return isinstance(n, int) and n == 1


def product(op: Op, numbers: Sequence[Size]) -> Size:
    """The product of sizes: an int where all are ints, else a value."""
    number = math.prod(n for n in numbers if isinstance(n, int))
    result: Size = number
    for n in numbers:
        if not isinstance(n, int):
            n = scalar(op, n, DType.INT64)
            result = n if isinstance(result, int) and result == 1 else op.Mul(result, n)
    return result


def numel(op: Op, x: Value) -> Size:
    """The number of elements: an int where it is known, else a value."""
    return math.prod(x.shape) if static(x.shape) else op.Size(x)


def count_along(op: Op, x: Value, axes: Sequence[int]) -> Size:
    """How many elements a reduction over axes takes together."""
    count = 1
    unknown: Value | None = None
    for axis in axes:
        length = size(op, x, axis)
        if isinstance(length, int):
            count *= length
        else:
            unknown = length if unknown is None else op.Mul(unknown, length)
    if unknown is None or count == 0:
        return count
    return unknown if count == 1 else op.Mul(unknown, count)


def arithmetic(op: Op, name: str, a: Size, b: Size) -> Size:
    """Arithmetic of sizes, at once where both are ints.

    Args:
        name: `"Add"`, `"Sub"`, `"Mul"`, `"Div"` (rounds down for sizes), `"Min"`, `"Max"`.
    """
    if isinstance(a, int) and isinstance(b, int):
        return _ON_INTS[name](a, b)
    values = [v if is_value(v) else op.constant(np.array(v, np.int64)) for v in (a, b)]
    value: Value = getattr(op, name)(*values)
    return value


_ON_INTS: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a // b,
    "Min": min,
    "Max": max,
}
