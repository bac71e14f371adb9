"""Factorizations of matrices by Loop nodes: LU, Cholesky, QR, and triangular systems.

Each step of a loop works on whole matrices with masks, so that batches, any size and complex
numbers take the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxwright.atenlib.complexes import Complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import full, iota, is_small, scalar, vector
from onnxwright.atenlib.helpers.sizes import size, sizes
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.types.dtypes import DType

Step = Callable[[Any, Sequence[Any]], tuple[list[Any], list[Any]]]


def repeat(
    op: Op,
    count: Size,
    states: Sequence[Value],
    step: Step,
    *,
    going_on: Callable[[Sequence[Any]], Any] | None = None,
) -> tuple[list[Any], list[Any]]:
    """A Loop whose states may be complex.

    Args:
        count: how often, at most.
        step: (number of the step, states) -> (states, what is stacked).
        going_on: states -> whether there is another step; always if not given.

    Returns:
        The last states, and what was stacked along a first axis.
    """
    kinds = [isinstance(s, Complex) for s in states]
    flat = [p for s in states for p in _parts(s)]

    def body(i: Any, condition: Value, *states_now: Any) -> tuple[Any, ...]:
        rest = iter(states_now)
        carried_states = [Complex(next(rest), next(rest)) if k else next(rest) for k in kinds]
        new, stacked = step(i, carried_states)
        again = op.And(condition, True) if going_on is None else going_on(new)
        return (again, *(p for s in new for p in _parts(s)), *stacked)

    results = op.Loop(scalar(op, count, DType.INT64), op.constant(np.array(True)), *flat, body=body)
    every = list(results) if isinstance(results, (tuple, list)) else [results]
    rest = iter(every[: len(flat)])
    last = [Complex(next(rest), next(rest)) if k else next(rest) for k in kinds]
    return last, every[len(flat) :]


def _parts(x: Value) -> list[Any]:
    return [x.real, x.imag] if isinstance(x, Complex) else [x]


def take(op: Op, x: algebra.T, i: Any, axis: int) -> algebra.T:
    """One row or column, without its axis."""
    return algebra.each(lambda v: op.Gather(v, i, axis=axis), x)


def choose(op: Op, condition: Value, a: algebra.T, b: algebra.T) -> algebra.T:
    """Where a condition holds `a`, else `b`."""
    return algebra.each(lambda v, w: op.Where(condition, v, w), a, b)


def only(op: Op, condition: Value, x: algebra.T) -> algebra.T:
    """Where a condition holds `x`, else zero."""
    return algebra.each(
        lambda v: op.Where(condition, v, op.constant(np.zeros((), v.onnx_dtype.numpy))), x
    )


def magnitude(op: Op, x: Value) -> Value:
    """What LAPACK compares pivots by: the absolute value, of complex numbers |re| + |im|."""
    if isinstance(x, Complex):
        return op.Add(op.Abs(x.real), op.Abs(x.imag))
    return op.Abs(x)


def least_size(op: Op, a: Size, b: Size) -> Size:
    """The smaller of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return op.Min(scalar(op, a, DType.INT64), scalar(op, b, DType.INT64))


def unit(op: Op, n: Size, dtype: DType, *, columns: Size | None = None) -> Value:
    """`[n, columns]` with ones on the diagonal."""
    columns = n if columns is None else columns
    if isinstance(n, int) and isinstance(columns, int) and is_small(n, columns):
        return op.constant(np.eye(n, columns, dtype=dtype.numpy))
    same = op.Equal(op.Unsqueeze(iota(op, n), [1]), iota(op, columns))
    return op.Cast(same, to=dtype)


def like_batch(op: Op, x: Value, matrix: Value) -> Value:
    """A matrix repeated for the batch of another."""
    front = sizes(op, real_part(x))[:-2]
    shape = [*front, *([1] * 2)]
    return algebra.each(lambda v: op.Expand(v, vector(op, shape)), matrix) if front else matrix


class LU(NamedTuple):
    """A factorization `A[order] == L @ U`.

    Fields:
        packed: L below the diagonal (its own is one) and U above.
        pivots: INT32, with which row each was exchanged, counted from one.
        order: INT64, where each row came from.
        odd: FLOAT or DOUBLE, 1 or -1: the sign of the order.
    """

    packed: Any
    pivots: Any
    order: Any
    odd: Any


def lu(op: Op, a: Value, *, pivot: bool = True) -> LU:
    """The LU factorization with exchange of rows.

    Args:
        a: `[..., m, n]`.
        pivot: whether rows are exchanged.

    Source: Golub and Van Loan, Matrix Computations, algorithm 3.4.1.
    """
    x = real_part(a)
    rows, columns = iota(op, size(op, x, -2)), iota(op, size(op, x, -1))
    column_of_rows = op.Unsqueeze(rows, [1])
    front = sizes(op, x)[:-2]
    order = op.Expand(rows, vector(op, [*front, size(op, x, -2)]))
    odd = full(op, [*front, 1], 1, x.onnx_dtype)
    if 0 in x.shape:  # nothing to do, and ONNX Runtime reduces empty tensors wrongly
        least = least_size(op, size(op, x, -2), size(op, x, -1))
        pivots = full(op, [*front, least], 0, DType.INT32)
        return LU(a, pivots, order, full(op, front, 1, x.onnx_dtype))

    def step(k: Value, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        packed, order, odd = states
        sizes_here = magnitude(op, take(op, packed, k, -1))
        allowed = op.GreaterOrEqual(rows, k) if pivot else op.Equal(rows, k)
        best = op.Where(allowed, sizes_here, op.constant(np.array(-1, x.onnx_dtype.numpy)))
        other = op.ArgMax(best, axis=-1)  # [..., 1]
        swap = op.Where(op.Equal(rows, k), other, op.Where(op.Equal(rows, other), k, rows))
        packed = _reordered(op, packed, swap)
        order = op.GatherElements(order, swap, axis=-1)
        odd = op.Where(op.Equal(other, k), odd, op.Neg(odd))
        row = algebra.unsqueeze(op, take(op, packed, k, -2), [x.rank - 2])
        head = algebra.each(lambda v: op.Gather(v, op.Unsqueeze(k, [0]), axis=-1), row)
        column = algebra.unsqueeze(op, take(op, packed, k, -1), [x.rank - 1])
        ratio = guarded(op, column, head)
        below = op.Greater(column_of_rows, k)
        ratio = only(op, below, ratio)
        right = only(op, op.Greater(columns, k), row)
        changed = algebra.sub(op, packed, algebra.mul(op, ratio, right))
        here = op.And(below, op.Equal(columns, k))
        spread = algebra.add(op, ratio, algebra.scale(op, packed, 0))
        return [choose(op, here, spread, changed), order, odd], [other]

    count = least_size(op, size(op, x, -2), size(op, x, -1))
    (packed, order, odd), (others,) = repeat(op, count, [a, order, odd], step)
    # [K, ..., 1] -> [..., K]
    others = op.Squeeze(others, [x.rank - 1])
    pivots = op.Transpose(others, perm=[*range(1, x.rank - 1), 0])
    pivots = op.Cast(op.Add(pivots, 1), to=DType.INT32)
    return LU(packed, pivots, order, op.Squeeze(odd, [x.rank - 2]))


def _reordered(op: Op, x: Value, order: Any) -> Value:
    """Rows in another order, `[..., m]` for each matrix."""

    def one(v: Value) -> Value:
        return op.GatherElements(v, op.Expand(op.Unsqueeze(order, [-1]), op.Shape(v)), axis=-2)

    return algebra.each(one, x)


reordered = _reordered


def guarded(op: Op, a: Value, b: Value) -> Value:
    """A quotient, zero where the divisor is."""
    zero = op.Equal(magnitude(op, b), 0.0)
    one = op.constant(np.ones((), real_part(b).onnx_dtype.numpy))
    if isinstance(b, Complex):
        safe: Value = Complex(op.Where(zero, one, b.real), b.imag)
    else:
        safe = op.Where(zero, one, b)
    return only(op, op.Not(zero), algebra.div(op, a, safe))


def solve_triangular(
    op: Op, a: Value, b: Value, *, upper: bool, unit_diagonal: bool = False
) -> Any:
    """`X` of `a @ X == b`, row by row.

    Args:
        a: `[..., n, n]`; only its half that counts is looked at.
        b: `[..., n, k]`.

    Returns:
        `[..., n, k]`.
    """
    if 0 in real_part(a).shape or 0 in real_part(b).shape:
        return b
    n = size(op, real_part(a), -1)
    rows = iota(op, n)
    column_of_rows = op.Unsqueeze(rows, [1])
    inside = op.Greater(rows, column_of_rows) if upper else op.Less(rows, column_of_rows)
    strict = only(op, inside, a)
    last = scalar(op, n, DType.INT64)
    diagonal = only(op, op.Equal(rows, column_of_rows), a)
    diagonal = algebra.reduce_sum(op, diagonal, [-1], keepdims=True)
    start = algebra.sub(op, b, b)
    if real_part(a).rank > 2 or real_part(b).rank > 2:
        start = algebra.add(op, start, algebra.scale(op, algebra.matmul(op, strict, start), 0))

    def step(i: Any, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        k = op.Sub(op.Sub(last, 1), i) if upper else i
        where = op.Unsqueeze(k, [0])

        def row(x: Value) -> Value:
            return algebra.each(lambda v: op.Gather(v, where, axis=-2), x)

        rest = algebra.sub(op, row(b), algebra.matmul(op, row(strict), states[0]))
        if not unit_diagonal:
            rest = algebra.div(op, rest, row(diagonal))
        return [choose(op, op.Equal(column_of_rows, k), rest, states[0])], []

    return repeat(op, n, [start], step)[0][0]


def cholesky(op: Op, a: Value) -> Any:
    """The lower factor `L` of `a == L @ L^H`; only the lower half of `a` is looked at.

    Source: Golub and Van Loan, Matrix Computations, algorithm 4.2.2 (outer products).
    """
    if 0 in real_part(a).shape:
        return a
    n = size(op, real_part(a), -1)
    rows = iota(op, n)
    column_of_rows = op.Unsqueeze(rows, [1])

    def step(k: Value, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        rest, column_done = states
        column = algebra.unsqueeze(op, take(op, rest, k, -1), [real_part(rest).rank - 1])
        head = op.Gather(real_part(column), op.Unsqueeze(k, [0]), axis=-2)
        root = op.Sqrt(head)
        column = algebra.each(lambda v: op.Div(v, root), column)
        column = only(op, op.GreaterOrEqual(column_of_rows, k), column)
        product = algebra.mul(op, column, algebra.adjoint(op, column))
        column_done = choose(
            op,
            op.Equal(rows, k),
            algebra.add(op, column, algebra.scale(op, column_done, 0)),
            column_done,
        )
        return [algebra.sub(op, rest, product), column_done], []

    return repeat(op, n, [a, algebra.sub(op, a, a)], step)[0][1]
