"""Building blocks of functions that move elements: reshapes, expansions, slices, ranges.

Sizes are ints or INT64 values without dimensions, as in `support`; a size that is known to be that
of the input's own dimension is said by position, so that no Shape is read at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.support import INT64_MAX, INT64_MIN, cast, size, sizes, vector
from onnxwright.semantics.backend import is_value
from onnxwright.types.dtypes import DType


def dim_of(n: Any) -> Any:
    """What is known of a size: an int, a name or an expression of names, or None.

    Example:
        >>> dim_of(3)
        3
    """
    return n if isinstance(n, int) else getattr(n, "dims", None)


def same_size(n: Any, dim: Any) -> bool:
    """Whether a size is known to equal a dimension of a shape."""
    known = dim_of(n)
    return known is not None and not isinstance(known, tuple) and known == dim


def same_shape(x: Any, y: Any) -> bool:
    """Whether two values are known to have one shape."""
    if x.rank != y.rank:
        return False
    return all(a is not None and a == b for a, b in zip(x.shape, y.shape, strict=True))


def static(shape: Sequence[Any]) -> bool:
    """Whether every dimension or size is an int.

    Example:
        >>> static([2, 3]), static([2, "N"])
        (True, False)
    """
    return all(isinstance(d, int) for d in shape)


def reshape_to(op: Any, x: Any, wanted: Sequence[Any]) -> Any:
    """A value in another shape.

    One size that is unknown becomes the -1 of Reshape, sizes that stay where they are its 0, so
    that most shapes are constants.

    Args:
        op: the operators.
        x: a value.
        wanted: sizes; one may be -1.

    Returns:
        The value with the shape.
    """
    dynamic = [i for i, n in enumerate(wanted) if not isinstance(n, int)]
    fixed = [n for n in wanted if isinstance(n, int)]
    inferred = -1 in fixed
    if not dynamic:
        if list(wanted) == list(x.shape):
            return x
        shape = np.array(wanted, np.int64).reshape(len(wanted))
        return op.Reshape(x, op.constant(shape), allowzero=int(0 in fixed))
    if 0 not in fixed:
        plan = [
            0 if i in dynamic and i < x.rank and same_size(n, x.shape[i]) else n
            for i, n in enumerate(wanted)
        ]
        if static(plan):
            return op.Reshape(x, op.constant(np.array(plan, np.int64)))
        if len(dynamic) == 1 and not inferred:
            plan[dynamic[0]] = -1
            return op.Reshape(x, op.constant(np.array(plan, np.int64)))
    return op.Reshape(x, vector(op, wanted), allowzero=int(not inferred))


def flat(op: Any, x: Any) -> Any:
    """All elements in one dimension."""
    return x if x.rank == 1 else op.Reshape(x, op.constant(np.array([-1], np.int64)))


def expand_to(op: Any, x: Any, wanted: Sequence[Any]) -> Any:
    """A value broadcast to a shape of at least its rank.

    Args:
        op: the operators.
        x: a value.
        wanted: sizes; -1 keeps the value's own.

    Returns:
        The value with the shape.
    """
    extra = len(wanted) - x.rank
    plan = []
    for i, n in enumerate(wanted):
        own = x.shape[i - extra] if i >= extra else 1
        kept = (isinstance(n, int) and n == -1) or same_size(n, own)
        plan.append(1 if kept else n)
    if all(isinstance(n, int) and n == 1 for n in plan):
        return op.Unsqueeze(x, list(range(extra))) if extra else x
    return op.Expand(x, vector(op, plan))


def expand_together(op: Any, values: Sequence[Any]) -> list[Any]:
    """Values broadcast against each other.

    Args:
        op: the operators.
        values: values of any shapes that broadcast.

    Returns:
        The values, all of one shape.
    """
    shapes = [v.shape for v in values]
    if all(static(s) for s in shapes):
        common = list(np.broadcast_shapes(*shapes))
        return [expand_to(op, v, common) for v in values]
    found = []
    for v in values:
        seen = [v]
        for other in values:
            if not any(_covers(s, other) for s in seen):
                v = op.Expand(v, op.Shape(other))
                seen.append(other)
        found.append(v)
    return found


def _covers(x: Any, other: Any) -> bool:
    """Whether expanding something of the shape of `x` to that of `other` changes nothing."""
    extra = x.rank - other.rank
    return extra >= 0 and all(
        d == 1 or (d is not None and d == x.shape[i + extra]) for i, d in enumerate(other.shape)
    )


def slice_axis(op: Any, x: Any, axis: int, start: Any, end: Any, step: Any = 1) -> Any:
    """A range along one axis, with the limits of Python's slices.

    Args:
        op: the operators.
        x: a value.
        axis: the axis.
        start, end, step: ints, values without dimensions, or None.

    Returns:
        The part; the value itself where that is all of it.
    """
    start = 0 if start is None else start
    end = INT64_MAX if end is None else end
    if start_is_zero(start) and isinstance(step, int) and step == 1 and reaches(end, x.shape[axis]):
        return x
    parts = [vector(op, [start]), vector(op, [end]), op.constant(np.array([axis], np.int64))]
    if not (isinstance(step, int) and step == 1):
        parts.append(vector(op, [step]))
    return op.Slice(x, *parts)


def start_is_zero(start: Any) -> bool:
    """Whether a start is the number zero."""
    return isinstance(start, int) and start == 0


def reaches(end: Any, dim: Any) -> bool:
    """Whether an end is known to lie behind the last element of a dimension."""
    if isinstance(end, int) and (end == INT64_MAX or (isinstance(dim, int) and end >= dim)):
        return True
    return same_size(end, dim)


def reverse(op: Any, x: Any, axes: Sequence[int]) -> Any:
    """The elements in the opposite order along some axes."""
    if not axes:
        return x
    n = len(axes)
    return op.Slice(x, [-1] * n, [INT64_MIN] * n, list(axes), [-1] * n)


def permute(op: Any, x: Any, order: Sequence[int]) -> Any:
    """The axes in another order; itself where it is the same."""
    return x if list(order) == list(range(x.rank)) else op.Transpose(x, perm=list(order))


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


def counting(op: Any, n: Any) -> Any:
    """`0, 1, ... n - 1` as INT64.

    Args:
        op: the operators.
        n: a size.

    Returns:
        A value of rank 1.
    """
    if isinstance(n, int) and n <= 16:
        return op.constant(np.arange(n))
    zero, one = op.constant(np.array(0)), op.constant(np.array(1))
    stop = n if is_value(n) else op.constant(np.array(n))
    return op.Range(zero, stop, one)


def shape_vector(op: Any, x: Any) -> Any:
    """The shape as an INT64 value; a constant where it is known."""
    if static(x.shape):
        return op.constant(np.array(x.shape, np.int64).reshape(x.rank))
    return op.Shape(x)


def on_axis(op: Any, x: Any, axis: int, rank: int) -> Any:
    """A value of rank 1 as one of a rank whose only long axis is `axis`."""
    others = [a for a in range(rank) if a != axis]
    return op.Unsqueeze(x, others) if others else x


def sizes_with(op: Any, x: Any, axis: int, n: Any) -> list[Any]:
    """The sizes of a value with one of them replaced."""
    found = sizes(op, x)
    found[axis] = n
    return found


def real_part(x: Any) -> Any:
    """What a body asks for type and shape: a value, or the real part of a `Complex`."""
    return x.real if isinstance(x, Complex) else x


def both(x: Any, function: Any) -> Any:
    """A function applied to a value, or to both parts of a `Complex`."""
    if isinstance(x, Complex):
        return Complex(function(x.real), function(x.imag))
    return function(x)


def arithmetic(op: Any, name: str, a: Any, b: Any) -> Any:
    """Arithmetic of sizes, at once where both are ints.

    Args:
        op: the operators.
        name: `"Add"`, `"Sub"`, `"Mul"`, `"Div"` (rounds down for sizes), `"Min"`, `"Max"`.
        a, b: sizes.

    Returns:
        A size.
    """
    if isinstance(a, int) and isinstance(b, int):
        return _ON_INTS[name](a, b)
    values = [v if is_value(v) else op.constant(np.array(v, np.int64)) for v in (a, b)]
    return getattr(op, name)(*values)


_ON_INTS: dict[str, Any] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a // b,
    "Min": min,
    "Max": max,
}


def as_index(op: Any, index: Any) -> Any:
    """An index tensor in a type that indexing operators take."""
    return index if index.onnx_dtype is DType.INT32 else cast(op, index, DType.INT64)


__all__ = [
    "arithmetic",
    "as_index",
    "axes_first",
    "axes_last",
    "both",
    "counting",
    "dim_of",
    "expand_to",
    "expand_together",
    "flat",
    "inverse_order",
    "on_axis",
    "permute",
    "reaches",
    "real_part",
    "reshape_to",
    "reverse",
    "same_shape",
    "same_size",
    "shape_vector",
    "size",
    "sizes_with",
    "slice_axis",
    "start_is_zero",
    "static",
]
