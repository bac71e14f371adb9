"""Norms of matrices, and systems of given LU factorizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import cast, full, iota
from onnxwright.atenlib.helpers.sizes import axis_of, size, sizes
from onnxwright.atenlib.op import TABLE, aten
from onnxwright.atenlib.ops.solve import solve_by_lu
from onnxwright.atenlib.ops.svd import singular_values
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

_TOL = {
    "float32": Tol(1e-4, 1e-4),
    "complex64": Tol(1e-4, 1e-4),
    "float16": Tol(5e-3, 5e-3),
    "bfloat16": Tol(5e-2, 5e-2),
}
_SINGULAR = ("nuc", 2, -2, 2.0, -2.0)


def _length(op: Op, x: Value) -> Value:
    if isinstance(x, Complex):
        return op.Sqrt(op.Add(op.Mul(x.real, x.real), op.Mul(x.imag, x.imag)))
    return op.Abs(x)


def _singular_norm(op: Op, x: Value, ord: Any, dim: Sequence[int], keepdim: bool) -> Value:
    """The sum, the largest or the smallest of the singular values."""
    rank = real_part(x).rank
    pair = [axis_of(d, rank) for d in dim]
    perm = [*(n for n in range(rank) if n not in pair), *pair]
    values = singular_values(op, algebra.transpose(op, x, perm))
    last = [values.rank - 1]
    if ord == "nuc" or 0 in values.shape:  # torch: the largest of no values is zero
        result = op.ReduceSum(values, last, keepdims=0)
    else:
        result = (op.ReduceMax if ord > 0 else op.ReduceMin)(values, last, keepdims=0)
    return op.Unsqueeze(result, sorted(pair)) if keepdim else result


def _matrix_norm(
    op: Op, x: Value, ord: Any, dim: Sequence[int], keepdim: bool, dtype: DType | None
) -> Any:
    if dtype is not None and not dtype.is_complex:
        x = algebra.each(lambda v: cast(op, v, dtype), x)
    if ord in _SINGULAR:
        return _singular_norm(op, x, ord, dim, keepdim)
    if ord == "fro":
        return TABLE["aten::linalg_vector_norm"](op, x, 2, list(dim), keepdim)
    x = _length(op, x)
    own_dtype = x.onnx_dtype
    x = cast(op, x, DType.FLOAT) if own_dtype.bits < 32 else x
    rows, columns = (axis_of(d, x.rank) for d in dim)
    along, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = op.ReduceSum(x, [along])
    extreme = op.ReduceMax if ord > 0 else op.ReduceMin
    if x.shape[over] == 0:  # torch: the largest of no lines is zero
        sums = op.ReduceSum(sums, [over])
    result = cast(op, extreme(sums, [over]), own_dtype)
    return result if keepdim else op.Squeeze(result, sorted([rows, columns]))


@aten(
    "aten::linalg_matrix_norm",
    "aten::linalg_matrix_norm.str_ord",
    rule=custom(),
    tests=[OpTest("linalg.matrix_norm", tol=_TOL), OpTest("norm:nuc", tol=_TOL)],
    complex="same",
)
def linalg_matrix_norm(
    op: Op,
    self: Value,
    ord: Number | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Any:
    """The norm of matrices: of all elements, of sums of lines, or of singular values."""
    return _matrix_norm(op, self, ord, dim, keepdim, dtype)


@aten(
    "aten::linalg_norm",
    "aten::linalg_norm.ord_str",
    rule=custom(),
    tests=[
        OpTest("linalg.norm", tol=_TOL),
        OpTest("linalg.norm:subgradients_at_zero", tol=_TOL),
    ],
    complex="same",
)
def linalg_norm(
    op: Op,
    self: Value,
    ord: Number | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Any:
    """A norm of vectors or of matrices, by the number of axes."""
    axes = [dim] if isinstance(dim, int) else dim
    rank = real_part(self).rank
    count = rank if axes is None else len(axes)
    if ord is not None and count == 2 and (axes is not None or rank == 2):
        pair = [0, 1] if axes is None else axes
        return _matrix_norm(op, self, ord, pair, keepdim, dtype)
    vector_norm = TABLE["aten::linalg_vector_norm"]
    return vector_norm(op, self, 2 if ord is None else ord, axes, keepdim, dtype=dtype)


def _order(op: Op, packed: Any, pivots: Any) -> Any:
    """Where each row came from, by LAPACK's exchanges."""
    x = real_part(packed)
    front, n = sizes(op, x)[:-2], size(op, x, -2)
    rows = iota(op, n)
    start = op.Add(full(op, [*front, n], 0, DType.INT64), rows)
    others = op.Sub(op.Cast(pivots, to=DType.INT64), 1)

    def step(k: Value, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        other = op.Gather(others, op.Unsqueeze(k, [0]), axis=-1)
        swap = op.Where(op.Equal(rows, k), other, op.Where(op.Equal(rows, other), k, rows))
        return [op.GatherElements(states[0], swap, axis=-1)], []

    return factors.repeat(op, size(op, others, -1), [start], step)[0][0]


def _adjoint_solve(op: Op, lu: factors.LU, b: Value) -> Value:
    """`X` of `A^H @ X == B`: `U^H` and `L^H` first, then the rows back in their places."""
    y = factors.solve_triangular(op, algebra.adjoint(op, lu.packed), b, upper=False)
    lower = algebra.adjoint(op, lu.packed)
    z = factors.solve_triangular(op, lower, y, upper=True, unit_diagonal=True)
    order = lu.order
    rows = op.Unsqueeze(iota(op, size(op, order, -1)), [1])
    where = op.Equal(op.Unsqueeze(order, [order.rank - 1]), rows)
    back = op.ArgMax(op.Cast(where, to=DType.INT32), axis=order.rank, keepdims=0)
    if real_part(z).rank - 1 > back.rank or back.rank > 1:
        back = op.Expand(back, op.Shape(real_part(z), end=real_part(z).rank - 1))
    return factors.reordered(op, z, back)


def _lu_solve(op: Op, packed: Any, pivots: Any, b: Value, left: bool, adjoint: bool) -> Value:
    if 0 in real_part(packed).shape or 0 in real_part(b).shape:
        return b
    lu = factors.LU(packed, pivots, _order(op, packed, pivots), None)
    if not left:
        b = algebra.adjoint(op, b)
    if adjoint is left:
        result = _adjoint_solve(op, lu, b)
    else:
        result = solve_by_lu(op, lu, b)
    return result if left else algebra.adjoint(op, result)


_SOLVE = {"float32": Tol(2e-3, 2e-4), "complex64": Tol(2e-3, 2e-4)}


@aten(
    "aten::linalg_lu_solve",
    rule=like("B"),
    tests=[OpTest("linalg.lu_solve", tol=_SOLVE)],
    complex="same",
)
def linalg_lu_solve(
    op: Op, LU: Value, pivots: Value, B: Value, *, left: bool = True, adjoint: bool = False
) -> Value:
    """`X` of `A @ X == B` (or of `X @ A == B`, or with the adjoint) by the factors of `A`."""
    return _lu_solve(op, LU, pivots, B, left, adjoint)


@aten("aten::lu_solve", rule=like("self"), tests=[OpTest("lu_solve", tol=_SOLVE)], complex="same")
def lu_solve(op: Op, self: Value, LU_data: Value, LU_pivots: Value) -> Value:
    """`X` of `A @ X == self` by the factors of `A`."""
    return _lu_solve(op, LU_data, LU_pivots, self, True, False)
