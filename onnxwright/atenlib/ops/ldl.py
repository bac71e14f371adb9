"""Factorizations as LAPACK packs them: LU taken apart, and LDL of symmetric matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import full, iota, scalar, vector
from onnxwright.atenlib.helpers.factorizations import choose, magnitude, only
from onnxwright.atenlib.helpers.sizes import size, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.solve import info_of
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

# Sums in another order than LAPACK's.
_TOL = {name: Tol(2e-3, 2e-4) for name in ("float32", "complex64")}


def _tests(*names: str) -> list[OpTest]:
    return [OpTest(name, tol=_TOL) for name in names]


def _exchanged(op: Op, rows: Size, a: Value, b: Value) -> Value:
    """Numbers of rows, two of them exchanged; `a` and `b` are `[..., 1]`."""
    return op.Where(op.Equal(rows, a), b, op.Where(op.Equal(rows, b), a, rows))


def _order(op: Op, pivots: Any, n: Size) -> Any:
    """Where each row came from, `[..., n]`, by which one each was exchanged with, one by one."""
    rows = iota(op, n)
    start = op.Expand(rows, vector(op, [*sizes(op, pivots)[:-1], n]))
    others = op.Sub(op.Cast(pivots, to=DType.INT64), 1)

    def step(k: Value, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        other = op.Gather(others, op.Unsqueeze(k, [0]), axis=-1)
        return [op.GatherElements(states[0], _exchanged(op, rows, k, other), axis=-1)], []

    if 0 in pivots.shape:
        return start
    return factors.repeat(op, size(op, pivots, -1), [start], step)[0][0]


@aten("aten::lu_unpack", rule=like("LU_data"), tests=_tests("lu_unpack"))
def lu_unpack(
    op: Op, LU_data: Value, LU_pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Value, ...]:
    """`P`, `L` and `U` of a packed factorization; what is not asked for is empty."""
    x = real_part(LU_data)
    m, n = size(op, x, -2), size(op, x, -1)
    like_data = (lambda v: as_complex(op, v, v.onnx_dtype)) if x is not LU_data else (lambda v: v)
    nothing = like_data(full(op, [0], 0, x.onnx_dtype))
    p, lower, upper = nothing, nothing, nothing
    if unpack_pivots:
        order = _order(op, LU_pivots, m)
        rows = op.Unsqueeze(iota(op, m), [1])
        p = like_data(op.Cast(op.Equal(rows, op.Unsqueeze(order, [-2])), to=x.onnx_dtype))
    if unpack_data:
        rows, columns = op.Unsqueeze(iota(op, m), [1]), iota(op, n)
        least = factors.least_size(op, m, n)
        one = factors.unit(op, m, x.onnx_dtype, columns=least)
        below = only(op, op.Greater(rows, columns), LU_data)
        above = only(op, op.LessOrEqual(rows, columns), LU_data)
        lower = algebra.add(op, _first(op, below, least, -1), like_data(one))
        upper = _first(op, above, least, -2)
    return p, lower, upper


@lu_unpack.on_complex
def lu_unpack_complex(
    op: Op, LU_data: Value, LU_pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    return lu_unpack.body(op, LU_data, LU_pivots, unpack_data, unpack_pivots)


def _first(op: Op, x: Value, count: Size, axis: int) -> Value:
    """The first of an axis."""
    end = vector(op, [count])
    return algebra.each(lambda v: op.Slice(v, [0], end, [v.rank + axis]), x)


# -- LDL -------------------------------------------------------------------------------------------

# Bunch and Kaufman's bound on the growth of elements.
_ALPHA = (1 + 17**0.5) / 8


def _dual(op: Op, x: Value, hermitian: bool) -> Value:
    """The transpose, or the adjoint."""
    return algebra.adjoint(op, x) if hermitian else algebra.transpose(op, x)


def _column(op: Op, x: Value, mask: Value) -> Value:
    """The column that a mask `[..., n]` picks in each matrix, `[..., n, 1]`."""
    picked = only(op, op.Unsqueeze(mask, [-2]), x)
    return algebra.reduce_sum(op, picked, [real_part(x).rank - 1], keepdims=True)


def _element(op: Op, column: Value, mask: Value) -> Value:
    """The element that a mask picks in each column, `[..., 1, 1]`."""
    picked = only(op, op.Unsqueeze(mask, [-1]), column)
    return algebra.reduce_sum(op, picked, [real_part(column).rank - 2], keepdims=True)


class _Pivot(NamedTuple):
    """What a step of the factorization takes as its block, each `[..., 1]`.

    Fields:
        two: whether the block has two rows.
        last: its last row.
        other: the row that the last is exchanged with.
    """

    two: Any
    last: Any
    other: Any


def _pivot(op: Op, x: Value, rows: Size, k: Value) -> _Pivot:
    """The choice of Bunch and Kaufman, as LAPACK's `sytf2` makes it."""
    axis = real_part(x).rank - 2

    def lengths(mask: Value) -> Value:
        return op.Squeeze(magnitude(op, _column(op, x, mask)), [axis + 1])

    def largest(moduli: Any, among: Any) -> Value:
        nothing = op.constant(np.zeros((), moduli.onnx_dtype.numpy))
        return op.ReduceMax(op.Where(among, moduli, nothing), [axis], keepdims=1)

    here, below = op.Equal(rows, k), op.Greater(rows, k)
    column = lengths(here)
    own, highest = largest(column, here), largest(column, below)
    less = op.constant(np.array(-1, column.onnx_dtype.numpy))
    best = op.ArgMax(op.Where(below, column, less), axis=-1)
    there = op.Equal(rows, best)
    row = lengths(there)
    around = op.And(op.GreaterOrEqual(rows, k), op.Not(there))
    across, beyond = largest(row, around), largest(row, there)
    ratio = op.Div(highest, op.Where(op.Greater(across, 0.0), across, 1.0))
    bound = op.Mul(highest, _ALPHA)
    stays = op.Or(op.GreaterOrEqual(own, bound), op.GreaterOrEqual(own, op.Mul(bound, ratio)))
    moves = op.GreaterOrEqual(beyond, op.Mul(across, _ALPHA))
    two = op.And(op.Not(stays), op.Not(moves))
    last = op.Where(two, op.Add(k, 1), k)
    return _Pivot(two, last, op.Where(stays, last, best))


def _symmetric(op: Op, a: Value, rows: Size, hermitian: bool) -> Value:
    """The matrix whose lower half is given."""
    down = op.Unsqueeze(rows, [1])
    strict = only(op, op.Greater(down, rows), a)
    diagonal = only(op, op.Equal(down, rows), a)
    if hermitian and isinstance(diagonal, Complex):
        diagonal = as_complex(op, diagonal.real, diagonal.real.onnx_dtype)
    return algebra.add(op, algebra.add(op, strict, diagonal), _dual(op, strict, hermitian))


def _by_blocks(
    op: Op, x: Value, masks: tuple[Any, Any], two: Any, hermitian: bool
) -> tuple[Value, Value, Value, Value]:
    """The columns of a block, and the same times its inverse: `(c, c2, l, l2)`, `[..., n, 1]`."""
    first, second = masks
    c, c2 = _column(op, x, first), _column(op, x, second)
    a, b, d = _element(op, c, first), _element(op, c, second), _element(op, c2, second)
    across = algebra.conj(op, b) if hermitian else b
    determinant = algebra.sub(op, algebra.mul(op, a, d), algebra.mul(op, b, across))
    one = algebra.sub(op, algebra.mul(op, c, d), algebra.mul(op, c2, b))
    other = algebra.sub(op, algebra.mul(op, c2, a), algebra.mul(op, c, across))
    single = factors.guarded(op, c, a)
    paired = factors.guarded(op, one, determinant)
    last = only(op, two, factors.guarded(op, other, determinant))
    return c, c2, choose(op, two, paired, single), last


def ldl(op: Op, a: Value, hermitian: bool) -> tuple[Any, Any]:
    """The packed factorization of symmetric (or Hermitian) matrices, and LAPACK's pivots.

    Args:
        a: `[..., n, n]`; its lower half is looked at.
        hermitian: whether the upper half is the conjugate.

    Returns:
        `L` below blocks of one or two rows on the diagonal; INT32 `[..., n]`, negative for blocks
        of two.

    Source: Bunch and Kaufman (1977); LAPACK's `sytf2` and `hetf2` without scaling.
    """
    x = real_part(a)
    n, front = size(op, x, -1), sizes(op, x)[:-2]
    if 0 in x.shape:
        return a, full(op, [*front, n], 0, DType.INT32)
    rows = iota(op, n)
    lower = op.GreaterOrEqual(op.Unsqueeze(rows, [1]), rows)
    count = scalar(op, n, DType.INT64)

    def step(_: Any, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        rest, packed, pivots, k = states
        pivot = _pivot(op, rest, rows, k)
        order = _exchanged(op, rows, pivot.last, pivot.other)
        rest = factors.reordered(op, rest, order)
        rest = algebra.transpose(op, factors.reordered(op, algebra.transpose(op, rest), order))
        masks = op.Equal(rows, k), op.And(pivot.two, op.Equal(rows, pivot.last))
        two = op.Unsqueeze(pivot.two, [-1])
        c, c2, l, l2 = _by_blocks(op, rest, masks, two, hermitian)
        below = op.Unsqueeze(op.Greater(rows, pivot.last), [-1])
        for mask, left, right in zip(masks, (l, l2), (c, c2), strict=True):
            here = op.And(lower, op.Unsqueeze(mask, [-2]))
            packed = choose(op, here, choose(op, below, left, right), packed)
            left, right = only(op, below, left), only(op, below, right)
            rest = algebra.sub(op, rest, algebra.mul(op, left, _dual(op, right, hermitian)))
        number = op.Add(pivot.other, 1)
        number = op.Where(pivot.two, op.Neg(number), number)
        pivots = op.Where(op.Or(*masks), number, pivots)
        return [rest, packed, pivots, op.Min(op.Add(pivot.last, 1), count)], []

    start = [
        _symmetric(op, a, rows, hermitian),
        algebra.sub(op, a, a),
        full(op, [*front, n], 0, DType.INT64),
        full(op, [*front, 1], 0, DType.INT64),
    ]
    (_, packed, pivots, _), _ = factors.repeat(op, n, start, step)
    return packed, op.Cast(pivots, to=DType.INT32)


class _Blocks(NamedTuple):
    """What pivots say, each `[..., n]`.

    Fields:
        paired, first: whether a row is of a block of two, and the first of it.
        partner: the other row of the block, or the row itself.
        place, other: which two rows a step exchanges.
    """

    paired: Any
    first: Any
    partner: Any
    place: Any
    other: Any


def _blocks(op: Op, pivots: Any, rows: Size) -> _Blocks:
    pivots = op.Cast(pivots, to=DType.INT64)
    paired = op.Less(pivots, 0)
    # Negative ones come in pairs.
    count = op.CumSum(op.Cast(paired, to=DType.INT64), op.constant(np.array(pivots.rank - 1)))
    first = op.And(paired, op.Equal(op.Mod(count, 2), 1))
    second = op.And(paired, op.Not(first))
    after, before = op.Add(rows, 1), op.Sub(rows, 1)
    partner = op.Where(first, after, op.Where(second, before, rows))
    place = op.Where(first, after, rows)
    other = op.Where(second, place, op.Sub(op.Abs(pivots), 1))
    return _Blocks(paired, first, partner, place, other)


def _by_diagonal(op: Op, a: Value, b: Value, rows: Size, blocks: _Blocks, hermitian: bool) -> Value:
    """`X` of `D @ X == b` for the blocks on the diagonal."""
    down = op.Unsqueeze(rows, [1])
    own = _sum_of_rows(op, only(op, op.Equal(down, rows), a))
    beside = op.And(op.Equal(down, op.Add(rows, 1)), op.Unsqueeze(blocks.first, [-2]))
    low = only(op, beside, a)
    across = algebra.add(op, _sum_of_rows(op, low), _sum_of_rows(op, _dual(op, low, hermitian)))

    def theirs(x: Value) -> Value:
        return factors.reordered(op, x, blocks.partner)

    determinant = algebra.sub(
        op, algebra.mul(op, own, theirs(own)), algebra.mul(op, across, theirs(across))
    )
    above = algebra.sub(op, algebra.mul(op, theirs(own), b), algebra.mul(op, across, theirs(b)))
    paired = algebra.div(op, above, determinant)
    return choose(op, op.Unsqueeze(blocks.paired, [-1]), paired, algebra.div(op, b, own))


def _sum_of_rows(op: Op, x: Value) -> Value:
    return algebra.reduce_sum(op, x, [real_part(x).rank - 1], keepdims=True)


def ldl_solve(op: Op, a: Value, pivots: Any, b: Value, hermitian: bool) -> Any:
    """`X` of `A @ X == b` for a packed factorization of `A`.

    Source: LAPACK's `sytrs` and `hetrs`.
    """
    start = algebra.add(op, b, algebra.scale(op, algebra.matmul(op, a, b), 0))
    if 0 in real_part(start).shape:
        return start
    n = size(op, real_part(a), -1)
    rows = iota(op, n)
    down = op.Unsqueeze(rows, [1])
    blocks = _blocks(op, pivots, rows)
    lower = only(op, op.Greater(down, op.Unsqueeze(blocks.place, [-2])), a)
    upper = _dual(op, lower, hermitian)

    def exchange(x: Value, at: Any) -> Value:
        place, other = (op.Gather(v, at, axis=-1) for v in (blocks.place, blocks.other))
        return factors.reordered(op, x, _exchanged(op, rows, place, other))

    def forward(i: Any, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        at = op.Unsqueeze(i, [0])
        x = exchange(states[0], at)
        column = algebra.each(lambda v: op.Gather(v, at, axis=-1), lower)
        row = algebra.each(lambda v: op.Gather(v, at, axis=-2), x)
        return [algebra.sub(op, x, algebra.mul(op, column, row))], []

    def backward(i: Any, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        k = op.Sub(op.Sub(scalar(op, n, DType.INT64), 1), i)
        at = op.Unsqueeze(k, [0])
        row = algebra.each(lambda v: op.Gather(v, at, axis=-2), upper)
        changed = algebra.sub(op, states[0], algebra.matmul(op, row, states[0]))
        return [exchange(choose(op, op.Equal(down, k), changed, states[0]), at)], []

    x = factors.repeat(op, n, [start], forward)[0][0]
    x = _by_diagonal(op, a, x, rows, blocks, hermitian)
    return factors.repeat(op, n, [x], backward)[0][0]


@aten("aten::linalg_ldl_factor", rule=like("self"), tests=_tests("linalg.ldl_factor"))
def linalg_ldl_factor(op: Op, self: Value, *, hermitian: bool = False) -> tuple[Value, ...]:
    """The packed `L` and `D`, and pivots."""
    return ldl(op, self, hermitian)


@linalg_ldl_factor.on_complex
def ldl_factor_complex(op: Op, self: Value, *, hermitian: bool = False) -> tuple[Any, Any]:
    return ldl(op, self, hermitian)


@aten("aten::linalg_ldl_factor_ex", rule=like("self"), tests=_tests("linalg.ldl_factor_ex"))
def linalg_ldl_factor_ex(
    op: Op, self: Value, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Value, ...]:
    """As `linalg_ldl_factor`, and zeros."""
    return (*ldl(op, self, hermitian), info_of(op, self))


@linalg_ldl_factor_ex.on_complex
def ldl_factor_ex_complex(
    op: Op, self: Value, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Any, Any, Value]:
    return (*ldl(op, self, hermitian), info_of(op, self))


@aten("aten::linalg_ldl_solve", rule=like("B"), tests=_tests("linalg.ldl_solve"))
def linalg_ldl_solve(op: Op, LD: Value, pivots: Value, B: Value, *, hermitian: bool = False) -> Any:
    """`X` of `A @ X == B` for what `linalg_ldl_factor` gives of `A`."""
    return ldl_solve(op, LD, pivots, B, hermitian)


@linalg_ldl_solve.on_complex
def ldl_solve_complex(
    op: Op, LD: Value, pivots: Value, B: Value, *, hermitian: bool = False
) -> Any:
    return ldl_solve(op, LD, pivots, B, hermitian)
