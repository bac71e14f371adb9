"""Linear systems, inverses, determinants, and the factorizations as torch gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import full, iota
from onnxwright.atenlib.helpers.sizes import size, sizes
from onnxwright.atenlib.op import TABLE, aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import Shape

# Sums in another order than LAPACK's, on matrices of a condition near 10.
_TOL = {name: Tol(2e-3, 2e-4) for name in ("float32", "complex64")}


def _tests(*names: str) -> list[OpTest]:
    return [OpTest(name, tol=_TOL) for name in names]


def info_of(op: Op, a: Value) -> Value:
    """LAPACK's status for success: a graph that runs to its end cannot report anything else."""
    return full(op, sizes(op, real_part(a))[:-2], 0, DType.INT32)


def _one(op: Op, a: Value) -> Value:
    identity = factors.unit(op, size(op, real_part(a), -1), real_part(a).onnx_dtype)
    return as_complex(op, identity, identity.onnx_dtype) if isinstance(a, Complex) else identity


def solve_by_lu(op: Op, lu: factors.LU, b: Value) -> Any:
    """`X` of `A @ X == b` by a factorization of `A`."""
    front = op.Shape(lu.order, end=lu.order.rank - 1)
    if lu.order.rank > 1 or real_part(b).rank > 2:
        shape = op.Concat(front, op.Shape(real_part(b), start=real_part(b).rank - 2), axis=0)
        b = algebra.each(lambda v: op.Expand(v, shape), b)
    order = lu.order
    if real_part(b).rank - 1 > order.rank:
        order = op.Expand(order, op.Shape(real_part(b), end=real_part(b).rank - 1))
    b = factors.reordered(op, b, order)
    y = factors.solve_triangular(op, lu.packed, b, upper=False, unit_diagonal=True)
    return factors.solve_triangular(op, lu.packed, y, upper=True)


def inverse_of(op: Op, a: Value) -> Any:
    """The inverse of square matrices."""
    return solve_by_lu(op, factors.lu(op, a), _one(op, a))


@aten("aten::linalg_inv", rule=like("A"), tests=_tests("linalg.inv"))
def linalg_inv(op: Op, A: Value) -> Any:
    """The inverse of square matrices."""
    return inverse_of(op, A)


@aten("aten::inverse", rule=like("self"), untested="OpInfos call linalg_inv")
def inverse(op: Op, self: Value) -> Any:
    """The inverse of square matrices."""
    return inverse_of(op, self)


@aten("aten::linalg_inv_ex", rule=like("A"), tests=_tests("linalg.inv_ex"))
def linalg_inv_ex(op: Op, A: Value, *, check_errors: bool = False) -> tuple[Value, ...]:
    """The inverse of square matrices, and zeros."""
    del check_errors
    return inverse_of(op, A), info_of(op, A)


def solve_of(op: Op, a: Value, b: Value, left: bool) -> Any:
    """`X` of `a @ X == b`, or of `X @ a == b`; `b` may be a vector for each matrix."""
    vectors = real_part(b).rank == 1 or (
        real_part(b).rank == real_part(a).rank - 1
        and _same(real_part(b).shape, real_part(a).shape[:-1])
    )
    if vectors:
        b = algebra.unsqueeze(op, b, [real_part(b).rank])
    if not left:
        solution = solve_by_lu(
            op, factors.lu(op, algebra.transpose(op, a)), algebra.transpose(op, b)
        )
        return algebra.transpose(op, solution)
    solution = solve_by_lu(op, factors.lu(op, a), b)
    return algebra.squeeze(op, solution, [real_part(solution).rank - 1]) if vectors else solution


def _same(a: Shape, b: Shape) -> bool:
    return tuple(a) == tuple(b)


@aten("aten::linalg_solve", rule=like("B"), tests=_tests("linalg.solve"))
def linalg_solve(op: Op, A: Value, B: Value, *, left: bool = True) -> Any:
    """`X` of `A @ X == B`, or of `X @ A == B`."""
    return solve_of(op, A, B, left)


@aten("aten::linalg_solve_ex", rule=like("B"), tests=_tests("linalg.solve_ex"))
def linalg_solve_ex(
    op: Op, A: Value, B: Value, *, left: bool = True, check_errors: bool = False
) -> tuple[Value, ...]:
    """As `linalg_solve`, and zeros."""
    del check_errors
    return solve_of(op, A, B, left), info_of(op, A)


def _diagonal(op: Op, a: Value) -> Value:
    if 0 in real_part(a).shape:
        shape = [*sizes(op, real_part(a))[:-2], size(op, real_part(a), -1)]
        return algebra.each(lambda v: full(op, shape, 1, v.onnx_dtype), a)
    n = factors.unit(op, size(op, real_part(a), -2), DType.BOOL, columns=size(op, real_part(a), -1))
    return algebra.reduce_sum(op, factors.only(op, n, a), [-1])


def _determinant(op: Op, a: Value) -> Value:
    return _of_factors(op, factors.lu(op, a))


def _of_factors(op: Op, lu: factors.LU) -> Value:
    return _signed(op, _product(op, _diagonal(op, lu.packed)), lu.odd)


def _signed(op: Op, x: Value, sign: Any) -> Value:
    return algebra.each(lambda v: op.Mul(v, sign), x)


def _product(op: Op, x: Value) -> Any:
    """The product along the last axis."""
    last = real_part(x).rank - 1
    if 0 in real_part(x).shape:
        product = full(op, sizes(op, real_part(x))[:-1], 1, real_part(x).onnx_dtype)
        return as_complex(op, product, product.onnx_dtype) if isinstance(x, Complex) else product
    if not isinstance(x, Complex):
        return op.ReduceProd(x, [last], keepdims=0)

    def step(k: Value, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        return [algebra.mul(op, states[0], factors.take(op, x, k, -1))], []

    total = op.ReduceSum(op.Mul(x.real, 0.0), [last], keepdims=0)
    start = Complex(op.Add(total, 1.0), total)
    return factors.repeat(op, size(op, x.real, -1), [start], step)[0][0]


@aten("aten::linalg_det", rule=like("A"), tests=_tests("linalg.det"))
def linalg_det(op: Op, A: Value) -> Value:
    """The determinant of square matrices."""
    return _determinant(op, A)


@aten("aten::det", rule=like("self"), untested="OpInfos call linalg_det")
def det(op: Op, self: Value) -> Value:
    """The determinant of square matrices."""
    return _determinant(op, self)


@aten("aten::_linalg_det", rule=like("A"), untested="OpInfos call linalg_det", complex="same")
def linalg_det_factored(op: Op, A: Value) -> tuple[Value, ...]:
    """The determinant, and the factorization it is of."""
    lu = factors.lu(op, A)
    return _of_factors(op, lu), lu.packed, lu.pivots


def slogdet_of(op: Op, lu: factors.LU) -> tuple[Any, Any]:
    """The sign of the determinant and the logarithm of its absolute value."""
    diagonal = _diagonal(op, lu.packed)
    last = real_part(diagonal).rank - 1
    if 0 in real_part(diagonal).shape:
        return _signed(op, _product(op, diagonal), lu.odd), op.Sub(lu.odd, 1.0)
    if isinstance(diagonal, Complex):
        square = op.Add(op.Mul(diagonal.real, diagonal.real), op.Mul(diagonal.imag, diagonal.imag))
        length = op.Sqrt(square)
        signs: Any = algebra.each(lambda v: op.Div(v, length), diagonal)
    else:
        length, signs = op.Abs(diagonal), op.Sign(diagonal)
    total = op.ReduceSum(op.Log(length), [last], keepdims=0)
    return _signed(op, _product(op, signs), lu.odd), total


@aten("aten::linalg_slogdet", rule=custom(), tests=_tests("linalg.slogdet"))
def linalg_slogdet(op: Op, A: Value) -> tuple[Value, ...]:
    """The sign and the logarithm of the absolute value of the determinant."""
    return slogdet_of(op, factors.lu(op, A))


@aten("aten::slogdet", rule=custom(), untested="OpInfos call linalg_slogdet")
def slogdet(op: Op, self: Value) -> tuple[Value, ...]:
    """The sign and the logarithm of the absolute value of the determinant."""
    return slogdet_of(op, factors.lu(op, self))


@aten("aten::logdet", rule=like("self"), tests=_tests("logdet"))
def logdet(op: Op, self: Value) -> Value:
    """The logarithm of the determinant; not a number where that is negative."""
    sign, total = slogdet_of(op, factors.lu(op, self))
    return op.Add(op.Log(sign), total)


@logdet.on_complex
def _logdet_complex(op: Op, self: Complex) -> Complex:
    sign, total = slogdet_of(op, factors.lu(op, self))
    return Complex(total, TABLE["aten::angle"](op, sign))


def _triangular(op: Op, a: Value, b: Value, upper: bool, left: bool, unit: bool) -> Any:
    if left:
        return factors.solve_triangular(op, a, b, upper=upper, unit_diagonal=unit)
    a, b = algebra.transpose(op, a), algebra.transpose(op, b)
    solution = factors.solve_triangular(op, a, b, upper=not upper, unit_diagonal=unit)
    return algebra.transpose(op, solution)


@aten("aten::linalg_solve_triangular", rule=like("B"), tests=_tests("linalg.solve_triangular"))
def linalg_solve_triangular(
    op: Op,
    self: Value,
    B: Value,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Any:
    """`X` of a triangular system."""
    return _triangular(op, self, B, upper, left, unitriangular)


@aten("aten::triangular_solve", rule=like("self"), tests=_tests("triangular_solve"))
def triangular_solve(
    op: Op,
    self: Value,
    A: Value,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Value, ...]:
    """`X` of a triangular system, and the coefficients."""
    a = algebra.transpose(op, A) if transpose else A
    solution = _triangular(op, a, self, upper is not transpose, True, unitriangular)
    if real_part(solution).rank > real_part(A).rank or real_part(A).rank > 2:
        shape = op.Concat(
            op.Shape(real_part(solution), end=real_part(solution).rank - 2),
            op.Shape(real_part(A), start=real_part(A).rank - 2),
            axis=0,
        )
        return solution, algebra.each(lambda v: op.Expand(v, shape), A)
    return solution, A


def _cholesky(op: Op, a: Value, upper: bool) -> Any:
    if not upper:
        return factors.cholesky(op, a)
    return algebra.adjoint(op, factors.cholesky(op, algebra.adjoint(op, a)))


@aten("aten::cholesky", "aten::linalg_cholesky", rule=like("self"),
      tests=_tests("cholesky", "linalg.cholesky"))  # fmt: skip
def cholesky(op: Op, self: Value, upper: bool = False) -> Any:
    """The Cholesky factor of positive definite matrices."""
    return _cholesky(op, self, upper)


@aten("aten::linalg_cholesky_ex", rule=like("self"), tests=_tests("linalg.cholesky_ex"))
def linalg_cholesky_ex(
    op: Op, self: Value, *, upper: bool = False, check_errors: bool = False
) -> tuple[Value, ...]:
    """The Cholesky factor, and zeros."""
    del check_errors
    return _cholesky(op, self, upper), info_of(op, self)


def _by_factor(op: Op, b: Value, factor: Value, upper: bool) -> Any:
    lower = algebra.adjoint(op, factor) if upper else factor
    y = factors.solve_triangular(op, lower, b, upper=False)
    return factors.solve_triangular(op, algebra.adjoint(op, lower), y, upper=True)


@aten("aten::cholesky_solve", rule=like("self"), tests=_tests("cholesky_solve"))
def cholesky_solve(op: Op, self: Value, input2: Value, upper: bool = False) -> Any:
    """`X` of `A @ X == self` by the Cholesky factor `input2` of `A`."""
    return _by_factor(op, self, input2, upper)


@aten("aten::cholesky_inverse", rule=like("self"), tests=_tests("cholesky_inverse"))
def cholesky_inverse(op: Op, self: Value, upper: bool = False) -> Any:
    """The inverse of a matrix by its Cholesky factor."""
    return _by_factor(op, factors.like_batch(op, self, _one(op, self)), self, upper)


@aten("aten::linalg_lu_factor", rule=like("A"), tests=_tests("linalg.lu_factor"))
def linalg_lu_factor(op: Op, A: Value, *, pivot: bool = True) -> tuple[Value, ...]:
    """The factors L and U in one matrix, and the exchanges of rows."""
    lu = factors.lu(op, A, pivot=pivot)
    return lu.packed, lu.pivots


@aten("aten::linalg_lu_factor_ex", rule=like("A"), tests=_tests("linalg.lu_factor_ex"))
def linalg_lu_factor_ex(
    op: Op, A: Value, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Value, ...]:
    """As `linalg_lu_factor`, and zeros."""
    del check_errors
    lu = factors.lu(op, A, pivot=pivot)
    return lu.packed, lu.pivots, info_of(op, A)


@aten("aten::_lu_with_info", rule=like("self"), tests=_tests("lu"))
def lu_with_info(
    op: Op, self: Value, pivot: bool = True, check_errors: bool = True
) -> tuple[Value, ...]:
    """As `linalg_lu_factor`, and zeros."""
    del check_errors
    lu = factors.lu(op, self, pivot=pivot)
    return lu.packed, lu.pivots, info_of(op, self)


def _unpacked(op: Op, packed: Any) -> tuple[Any, Any]:
    x = real_part(packed)
    rows, columns = size(op, x, -2), size(op, x, -1)
    least = factors.least_size(op, rows, columns)
    ends = op.Unsqueeze(least, [0]) if not isinstance(least, int) else [least]
    tall = algebra.each(lambda v: op.Slice(v, [0], ends, [v.rank - 1]), packed)
    wide = algebra.each(lambda v: op.Slice(v, [0], ends, [v.rank - 2]), packed)
    lower = algebra.each(lambda v: op.Trilu(v, op.constant(np.array(-1)), upper=0), tall)
    one = factors.unit(op, rows, x.onnx_dtype, columns=least)
    if isinstance(lower, Complex):
        lower = Complex(op.Add(lower.real, one), lower.imag)
    else:
        lower = op.Add(lower, one)
    return lower, algebra.each(lambda v: op.Trilu(v, upper=1), wide)


def _permutation(op: Op, order: Any, dtype: DType) -> Value:
    """`P` with `P @ L @ U == A` from where each row came from."""
    n = size(op, order, -1)
    target = op.Unsqueeze(order, [order.rank - 1])
    rows = iota(op, n)
    return op.Cast(op.Equal(op.Unsqueeze(rows, [1]), target), to=dtype)


@aten("aten::linalg_lu", rule=like("A"), tests=_tests("linalg.lu"))
def linalg_lu(op: Op, A: Value, *, pivot: bool = True) -> tuple[Value, ...]:
    """`P`, `L` and `U` with `A == P @ L @ U`."""
    lu = factors.lu(op, A, pivot=pivot)
    lower, upper = _unpacked(op, lu.packed)
    dtype = real_part(A).onnx_dtype
    if pivot:
        order: Any = _permutation(op, lu.order, dtype)
        order = as_complex(op, order, dtype) if isinstance(A, Complex) else order
    else:
        order = op.constant(np.zeros(0, dtype.numpy))
        order = Complex(order, order) if isinstance(A, Complex) else order
    return order, lower, upper


for _function in (
    linalg_inv, inverse, linalg_inv_ex, linalg_solve, linalg_solve_ex, linalg_det, det,
    linalg_slogdet, slogdet, linalg_solve_triangular, triangular_solve, cholesky,
    linalg_cholesky_ex, cholesky_solve, cholesky_inverse, linalg_lu_factor, linalg_lu_factor_ex,
    lu_with_info, linalg_lu,
):  # fmt: skip
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
