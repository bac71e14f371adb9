"""Functions that move elements: reshapes, expansions, slices, orders of axes.

A size that is known to be that of the input's own dimension is given by position, so that no Shape
is read at run time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxwright.atenlib.helpers.constants import INT64_MAX, INT64_MIN, full, iota, vector
from onnxwright.atenlib.helpers.sizes import is_known_zero, same_size, size, static
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import Dim


def reshape(op: Op, x: Value, sizes: Sequence[Size]) -> Value:
    """A value in another shape; itself where it has it.

    One size that is unknown becomes the -1 of Reshape, sizes that stay where they are its 0, so
    that most shapes are constants.

    Args:
        sizes: sizes; one may be -1.
    """
    dynamic = [i for i, n in enumerate(sizes) if not isinstance(n, int)]
    fixed = [n for n in sizes if isinstance(n, int)]
    inferred = -1 in fixed
    if not dynamic and list(sizes) == list(x.shape):
        return x
    if 0 in fixed and not inferred:
        return full(op, sizes, 0, x.onnx_dtype)
    if not dynamic:
        shape = np.array(sizes, np.int64).reshape(len(sizes))
        return op.Reshape(x, op.constant(shape), allowzero=int(0 in fixed))
    if 0 not in fixed:
        plan: list[Size] = [
            0 if i in dynamic and i < x.rank and same_size(n, x.shape[i]) else n
            for i, n in enumerate(sizes)
        ]
        if static(plan):
            return op.Reshape(x, op.constant(np.array(plan, np.int64)))
        if len(dynamic) == 1 and not inferred:
            plan[dynamic[0]] = -1
            return op.Reshape(x, op.constant(np.array(plan, np.int64)))
    return op.Reshape(x, vector(op, sizes), allowzero=int(not inferred))


def flat(op: Op, x: Value) -> Value:
    """All elements in one dimension."""
    return x if x.rank == 1 else op.Reshape(x, op.constant(np.array([-1], np.int64)))


def expand_to(op: Op, x: Value, sizes: Sequence[Size]) -> Value:
    """A value broadcast to a shape of at least its rank.

    Args:
        sizes: sizes; -1 keeps the value's own.
    """
    extra = len(sizes) - x.rank
    plan: list[Size] = []
    for i, n in enumerate(sizes):
        own = x.shape[i - extra] if i >= extra else 1
        kept = (isinstance(n, int) and n == -1) or same_size(n, own)
        plan.append(1 if kept else n)
    if all(isinstance(n, int) and n == 1 for n in plan):
        return op.Unsqueeze(x, list(range(extra))) if extra else x
    return op.Expand(x, vector(op, plan))


def expand_together(op: Op, values: Sequence[Value]) -> list[Value]:
    """Values broadcast against each other.

    Args:
        values: values of any shapes that broadcast.

    Returns:
        The values, all of one shape.
    """
    shapes = [v.shape for v in values if static(v.shape)]
    if len(shapes) == len(values):
        common = [int(n) for n in np.broadcast_shapes(*shapes)]
        return [expand_to(op, v, common) for v in values]
    expanded = []
    for v in values:
        seen = [v]
        for other in values:
            if not any(_covers(s, other) for s in seen):
                v = op.Expand(v, op.Shape(other))
                seen.append(other)
        expanded.append(v)
    return expanded


def _covers(x: Value, other: Value) -> bool:
    """Whether expanding something of the shape of `x` to that of `other` changes nothing."""
    extra = x.rank - other.rank
    return extra >= 0 and all(
        d == 1 or (d is not None and d == x.shape[i + extra]) for i, d in enumerate(other.shape)
    )


def slice_axis(
    op: Op, x: Value, axis: int, start: Size | None, end: Size | None, step: Size = 1
) -> Value:
    """A range along one axis, with the limits of Python's slices.

    Args:
        start, end, step: sizes, or None.

    Returns:
        The part; the value itself where that is all of it.
    """
    start = 0 if start is None else start
    end = INT64_MAX if end is None else end
    if is_known_zero(start) and isinstance(step, int) and step == 1 and reaches(end, x.shape[axis]):
        return x
    parts = [vector(op, [start]), vector(op, [end]), op.constant(np.array([axis], np.int64))]
    if not (isinstance(step, int) and step == 1):
        parts.append(vector(op, [step]))
    return op.Slice(x, *parts)


def reaches(end: Size, dim: Dim) -> bool:
    """Whether an end is known to lie behind the last element of a dimension."""
    if isinstance(end, int) and (end == INT64_MAX or (isinstance(dim, int) and end >= dim)):
        return True
    return same_size(end, dim)


def reverse(op: Op, x: Value, axes: Sequence[int]) -> Value:
    """The elements in the opposite order along some axes."""
    if not axes:
        return x
    n = len(axes)
    return op.Slice(x, [-1] * n, [INT64_MIN] * n, list(axes), [-1] * n)


def permute(op: Op, x: Value, order: Sequence[int]) -> Value:
    """The axes in another order; itself where it is the same."""
    return x if list(order) == list(range(x.rank)) else op.Transpose(x, perm=list(order))


def to_last(op: Op, x: Value, axis: int) -> Value:
    """The value with one axis moved behind the others."""
    return permute(op, x, axes_last([axis], x.rank)) if x.rank else x


def from_last(op: Op, x: Value, axis: int) -> Value:
    """The value with its last axis moved to a place; the inverse of `to_last`."""
    return permute(op, x, inverse_order(axes_last([axis], x.rank))) if x.rank else x


def axes_first(axes: Sequence[int], rank: int) -> list[int]:
    """The order of axes with some of them in front.

    Example:
        >>> axes_first([2], 3), axes_first([0, 2], 4)
        ([2, 0, 1], [0, 2, 1, 3])
    """
    return [*axes, *(a for a in range(rank) if a not in axes)]


def axes_last(axes: Sequence[int], rank: int) -> list[int]:
    """The order of axes with some of them at the end.

    Example:
        >>> axes_last([0], 3)
        [1, 2, 0]
    """
    return [*(a for a in range(rank) if a not in axes), *axes]


def inverse_order(order: Sequence[int]) -> list[int]:
    """The order that undoes another.

    Example:
        >>> inverse_order([2, 0, 1])
        [1, 2, 0]
    """
    return [list(order).index(i) for i in range(len(order))]


def on_axis(op: Op, x: Value, axis: int, rank: int) -> Value:
    """A value of rank 1 as one of a rank whose only long axis is `axis`."""
    others = [a for a in range(rank) if a != axis]
    return op.Unsqueeze(x, others) if others else x


def iota_along(op: Op, x: Value, axis: int, dtype: DType = DType.INT64) -> Value:
    """The numbers 0, 1, ... along one axis of a value, size 1 in the axes after it.

    Args:
        x: a value; only its shape counts.
        axis: the axis, counted from the front.
        dtype: the element type.

    Returns:
        A value that broadcasts against `x`.
    """
    numbers = iota(op, size(op, x, axis), dtype)
    after = x.rank - 1 - axis
    return op.Unsqueeze(numbers, list(range(1, after + 1))) if after else numbers
