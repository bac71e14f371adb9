"""Least squares, tensors as linear maps, and the inner operators of linear algebra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import cast, full, scalar
from onnxwright.atenlib.helpers.sizes import size, sizes, static
from onnxwright.atenlib.op import TABLE, aten, unsupported
from onnxwright.atenlib.ops.pinv import pseudoinverse
from onnxwright.atenlib.ops.qr import qr_of, squared
from onnxwright.atenlib.ops.solve import info_of, slogdet_of, solve_by_lu, solve_of
from onnxwright.atenlib.ops.svd import singular_values
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

# Sums in another order than LAPACK's, divided by the smallest singular value.
_TOL = {name: Tol(2e-3, 2e-4) for name in ("float32", "complex64")}
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _by_qr(op: Op, a: Value, b: Value) -> Any:
    """The solution for matrices of full rank, the shortest where there are many."""
    rows, columns = size(op, real_part(a), -2), size(op, real_part(a), -1)
    if not isinstance(rows, int) or not isinstance(columns, int):
        unsupported("the driver `gels` for matrices of unknown sizes; `gelsd` is there")
    if rows >= columns:
        q, r = qr_of(op, a)
        return factors.solve_triangular(
            op, r, algebra.matmul(op, algebra.adjoint(op, q), b), upper=True
        )
    q, r = qr_of(op, algebra.adjoint(op, a))
    y = factors.solve_triangular(op, algebra.adjoint(op, r), b, upper=False)
    return algebra.matmul(op, q, y)


def _rank(op: Op, values: Value, a: Value, rcond: float | None) -> Value:
    """How many singular values are more than a part of the greatest."""
    last = [values.rank - 1]
    if 0 in values.shape:
        return full(op, sizes(op, values)[:-1], 0, DType.INT64)
    largest = op.ReduceMax(values, last, keepdims=1)
    limit = op.Mul(largest, _relative(op, a, rcond))
    return op.ReduceSum(cast(op, op.Greater(values, limit), DType.INT64), last, keepdims=0)


def _relative(op: Op, a: Value, rcond: float | None) -> Value:
    """What part of the greatest singular value counts as zero, as torch fills it in."""
    dtype = real_part(a).onnx_dtype
    if rcond is not None:
        return scalar(op, float(rcond), dtype)
    rows, columns = size(op, real_part(a), -2), size(op, real_part(a), -1)
    most = op.Max(*(scalar(op, n, DType.INT64) for n in (rows, columns)))
    return op.Mul(cast(op, most, dtype), float(np.finfo(dtype.numpy).eps))


def _residuals(op: Op, a: Value, b: Value, x: Value, rank: Size | None) -> Value:
    """The squares of what is left over, by columns; nothing where the matrix lacks rank.

    In a batch those of matrices that lack rank are not numbers, where torch gives nothing at all.
    """
    rest = squared(op, algebra.sub(op, algebra.matmul(op, a, x), b))
    sums = op.ReduceSum(rest, [rest.rank - 2], keepdims=0)
    if rank is None:
        return sums
    whole = op.Equal(rank, scalar(op, size(op, real_part(a), -1), DType.INT64))
    if sums.rank > 1:
        nothing = scalar(op, math.nan, sums.onnx_dtype)
        return op.Where(op.Unsqueeze(whole, [whole.rank]), sums, nothing)
    count = op.Mul(cast(op, whole, DType.INT64), scalar(op, size(op, sums, 0), DType.INT64))
    return op.Slice(sums, [0], op.Unsqueeze(count, [0]), [0])


@aten(
    "aten::linalg_lstsq",
    rule=like("self"),
    tests=[
        OpTest("linalg.lstsq", tol=_TOL),
        OpTest("linalg.lstsq:grad_oriented", tol=_TOL),
    ],
)
def linalg_lstsq(
    op: Op, self: Value, b: Value, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Value, ...]:
    """The `X` with the least `|self @ X - b|`, with residuals, rank and singular values.

    Each driver gives of the last three what LAPACK's of that name gives; the others are empty.
    """
    driver = driver or "gelsy"
    if driver not in _DRIVERS:
        unsupported(f"driver {driver!r}; there are {', '.join(_DRIVERS)}")
    dtype = real_part(self).onnx_dtype
    vectors = real_part(b).rank == real_part(self).rank - 1
    if vectors:
        b = algebra.unsqueeze(op, b, [real_part(b).rank])
    none = op.constant(np.zeros(0, dtype.numpy))
    rank, values = None, none
    if driver == "gels":
        solution = _by_qr(op, self, b)
    else:
        relative = float(rcond) if rcond is not None else None
        solution = algebra.matmul(op, pseudoinverse(op, self, 0.0, relative, False), b)
        every = singular_values(op, self)
        rank = _rank(op, every, self, relative)
        values = none if driver == "gelsy" else every
    rows, columns = real_part(self).shape[-2:]
    residuals = none
    if driver != "gelsy":
        if not isinstance(rows, int) or not isinstance(columns, int):
            unsupported(f"the driver `{driver}` for matrices of unknown sizes; `gelsy` is there")
        if rows > columns:
            residuals = _residuals(op, self, b, solution, rank)
    if vectors:
        solution = algebra.squeeze(op, solution, [real_part(solution).rank - 1])
    return solution, residuals, _none_of(op) if rank is None else rank, values


def _none_of(op: Op) -> Value:
    return op.constant(np.zeros(0, np.int64))


@aten(
    "aten::linalg_tensorsolve",
    rule=like("self"),
    tests=[OpTest("linalg.tensorsolve", tol=_TOL)],
)
def linalg_tensorsolve(op: Op, self: Value, other: Value, dims: Sequence[int] | None = None) -> Any:
    """`X` of `tensordot(self, X) == other`, where all axes of `X` are summed over."""
    rank = real_part(self).rank
    if dims:
        last = [d % rank for d in dims]
        order = [n for n in range(rank) if n not in last] + last
        self = algebra.transpose(op, self, order)
    shape = real_part(self).shape
    if not static(shape):
        unsupported("a tensor of unknown sizes as a linear map")
    split = real_part(other).rank
    count = math.prod(shape[split:])
    a = algebra.reshape(op, self, [math.prod(shape[:split]), count])
    solution = solve_by_lu(op, factors.lu(op, a), algebra.reshape(op, other, [count, 1]))
    return algebra.reshape(op, solution, list(shape[split:]))


@aten("aten::_linalg_slogdet", rule=custom(), untested="OpInfos call linalg_slogdet")
def linalg_slogdet_factored(op: Op, A: Value) -> tuple[Value, ...]:
    """The sign and the logarithm of the determinant, and the factorization they are of."""
    lu = factors.lu(op, A)
    return (*slogdet_of(op, lu), lu.packed, lu.pivots)


@aten("aten::_linalg_solve_ex", rule=like("B"), untested="OpInfos call linalg_solve_ex")
def linalg_solve_factored(
    op: Op, A: Value, B: Value, *, left: bool = True, check_errors: bool = False
) -> tuple[Value, ...]:
    """As `linalg_solve_ex`, with the factorization."""
    del check_errors
    lu = factors.lu(op, A)
    return solve_of(op, A, B, left), lu.packed, lu.pivots, info_of(op, A)


@aten("aten::_linalg_check_errors", rule=custom(), untested="it gives nothing")
def linalg_check_errors(op: Op, info: Value, api_name: str, *, is_matrix: bool) -> Any:
    """Nothing: a graph that runs to its end has met no error."""
    del op, info, api_name, is_matrix
    return ()


@aten("aten::nuclear_norm", rule=custom(), untested="OpInfos call linalg_matrix_norm")
def nuclear_norm(op: Op, self: Value, keepdim: bool = False) -> Any:
    """The sum of the singular values."""
    return TABLE["aten::linalg_matrix_norm.str_ord"](op, self, "nuc", [-2, -1], keepdim)


@aten("aten::nuclear_norm.dim", rule=custom(), untested="OpInfos call linalg_matrix_norm")
def nuclear_norm_dim(op: Op, self: Value, dim: Sequence[int], keepdim: bool = False) -> Any:
    """The sum of the singular values of matrices in two dimensions."""
    return TABLE["aten::linalg_matrix_norm.str_ord"](op, self, "nuc", list(dim), keepdim)


for _function in (
    linalg_lstsq, linalg_tensorsolve, linalg_slogdet_factored, linalg_solve_factored, nuclear_norm,
    nuclear_norm_dim,
):  # fmt: skip
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
