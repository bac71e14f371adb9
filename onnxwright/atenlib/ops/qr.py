"""QR factorizations by Householder reflections, and the exponential of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import cast, full, iota, scalar
from onnxwright.atenlib.helpers.sizes import size, sizes
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, Tol, XFail
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

# Sums in another order than LAPACK's.
_TOL = {name: Tol(1e-3, 1e-4) for name in ("float32", "complex64")}
# Errors go with the largest element, which is near 1e4 and more in the samples.
_EXP = {name: Tol(1e-3, 5e-3) for name in ("float32", "complex64")}


def like_kind(op: Op, x: Value, value: Any) -> Value:
    """A real value as one of the kind of another: complex where that is."""
    return as_complex(op, value, value.onnx_dtype) if isinstance(x, Complex) else value


def line(op: Op, x: Value, i: Any, axis: int) -> Value:
    """One row or column, its axis kept."""
    return algebra.each(lambda v: op.Gather(v, op.Unsqueeze(i, [0]), axis=axis), x)


def first(op: Op, x: Value, count: Size, axis: int) -> Value:
    """The first lines along one of the last two axes."""
    ends = [count] if isinstance(count, int) else op.Unsqueeze(count, [0])
    return algebra.each(lambda v: op.Slice(v, [0], ends, [v.rank + axis]), x)


def squared(op: Op, x: Value) -> Value:
    """The squares of the absolute values, real."""
    if isinstance(x, Complex):
        return op.Add(op.Mul(x.real, x.real), op.Mul(x.imag, x.imag))
    return op.Mul(x, x)


def eye_of(op: Op, a: Value, rows: Size, columns: Size) -> Value:
    """`[..., rows, columns]` with ones on the diagonal, for the batch and kind of `a`."""
    unit = factors.unit(op, rows, real_part(a).onnx_dtype, columns=columns)
    return like_kind(op, a, factors.like_batch(op, a, unit))


def _reflector(op: Op, head: Any, below: Any) -> tuple[Any, Any, Any]:
    """`beta`, `tau` and the factor of the rest for a column; as LAPACK's `larfg` has them."""
    rest = op.ReduceSum(squared(op, below), [real_part(below).rank - 2], keepdims=1)
    trivial = op.Equal(rest, 0.0)
    if isinstance(head, Complex):
        trivial = op.And(trivial, op.Equal(head.imag, 0.0))
    length = op.Sqrt(op.Add(squared(op, head), rest))
    beta = op.Where(op.Less(real_part(head), 0.0), length, op.Neg(length))
    beta = op.Where(trivial, real_part(head), beta)
    one = scalar(op, 1.0, beta.onnx_dtype)
    whole = op.Where(trivial, one, beta)
    apart = algebra.sub(op, like_kind(op, head, beta), head)
    tau = algebra.each(lambda v: op.Div(v, whole), apart)
    ones = like_kind(op, head, op.Where(trivial, one, one))
    factor = algebra.div(op, ones, factors.choose(op, trivial, ones, algebra.scale(op, apart, -1)))
    return beta, tau, factor


def householder(op: Op, a: Value) -> tuple[Any, Any]:
    """R and the reflections of a QR factorization, packed as LAPACK's `geqrf` has them.

    Args:
        a: `[..., m, n]`.

    Returns:
        `[..., m, n]` with R and, below the diagonal, the vectors; the factors `tau`,
        `[..., min(m, n)]`.

    Source: Golub and Van Loan, Matrix Computations, algorithm 5.2.1.
    """
    x = real_part(a)
    count = factors.least_size(op, size(op, x, -2), size(op, x, -1))
    if 0 in x.shape:
        return a, like_kind(op, a, full(op, [*sizes(op, x)[:-2], count], 0, x.onnx_dtype))
    rows = op.Unsqueeze(iota(op, size(op, x, -2)), [1])
    columns = iota(op, size(op, x, -1))

    def step(k: Value, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        packed = states[0]
        column = line(op, packed, k, -1)
        inside, on = op.Greater(rows, k), op.Equal(rows, k)
        below = factors.only(op, inside, column)
        beta, tau, factor = _reflector(op, line(op, column, k, -2), below)
        tail = algebra.mul(op, below, factor)
        vector = _with_one(op, on, tail)
        across = algebra.matmul(op, algebra.adjoint(op, vector), packed)
        part = algebra.mul(op, algebra.conj(op, tau), vector)
        changed = algebra.sub(op, packed, algebra.mul(op, part, across))
        above = factors.choose(op, on, like_kind(op, a, beta), column)
        spread = factors.choose(op, inside, tail, above)
        rest = factors.choose(op, op.Equal(columns, k), spread, packed)
        packed = factors.choose(op, op.Greater(columns, k), changed, rest)
        flat = algebra.squeeze(op, tau, [x.rank - 1])
        return [packed], [flat.real, flat.imag] if isinstance(flat, Complex) else [flat]

    (packed,), stacked = factors.repeat(op, count, [a], step)
    taus = [
        op.Transpose(op.Squeeze(v, [x.rank - 1]), perm=[*range(1, x.rank - 1), 0]) for v in stacked
    ]
    return packed, Complex(*taus) if isinstance(a, Complex) else taus[0]


def _with_one(op: Op, on: Any, tail: Any) -> Value:
    one = scalar(op, 1.0, real_part(tail).onnx_dtype)
    if isinstance(tail, Complex):
        return Complex(op.Where(on, one, tail.real), tail.imag)
    return op.Where(on, one, tail)


def reflected(op: Op, packed: Any, tau: Any, c: Value, *, adjoint: bool = False) -> Any:
    """`Q @ c`, or `Q^H @ c`, by the reflections that `Q` is the product of.

    Args:
        packed, tau: as `householder` gives them.
        c: `[..., m, k]`.

    Returns:
        `[..., m, k]`.
    """
    if 0 in real_part(c).shape or 0 in real_part(tau).shape:
        return c
    count = size(op, real_part(tau), -1)
    last = scalar(op, count, DType.INT64)
    rows = op.Unsqueeze(iota(op, size(op, real_part(packed), -2)), [1])

    def step(i: Any, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        k = i if adjoint else op.Sub(op.Sub(last, 1), i)
        tail = factors.only(op, op.Greater(rows, k), line(op, packed, k, -1))
        vector = _with_one(op, op.Equal(rows, k), tail)
        factor = algebra.unsqueeze(op, line(op, tau, k, -1), [real_part(tau).rank])
        factor = algebra.conj(op, factor) if adjoint else factor
        across = algebra.matmul(op, algebra.adjoint(op, vector), states[0])
        part = algebra.mul(op, algebra.mul(op, factor, vector), across)
        return [algebra.sub(op, states[0], part)], []

    return factors.repeat(op, count, [c], step)[0][0]


def qr_of(op: Op, a: Value, mode: str = "reduced") -> tuple[Any, Any]:
    """`Q` and `R` of matrices; with the signs of LAPACK."""
    if mode not in ("reduced", "complete", "r"):
        unsupported(f"mode {mode!r}; there are `reduced`, `complete` and `r`")
    rows, columns = size(op, real_part(a), -2), size(op, real_part(a), -1)
    packed, tau = householder(op, a)
    count = rows if mode == "complete" else factors.least_size(op, rows, columns)
    upper = first(op, packed, count, -2)
    if 0 not in real_part(a).shape:
        upper = algebra.each(lambda v: op.Trilu(v, upper=1), upper)
    if mode == "r":
        none = like_kind(op, a, op.constant(np.zeros(0, real_part(a).onnx_dtype.numpy)))
        return none, upper
    return reflected(op, packed, tau, eye_of(op, a, rows, count)), upper


@aten("aten::linalg_qr", rule=like("A"), tests=[OpTest("linalg.qr", tol=_TOL)])
def linalg_qr(op: Op, A: Value, mode: str = "reduced") -> tuple[Value, ...]:
    """The QR factorization of matrices."""
    return qr_of(op, A, mode)


@aten("aten::qr", rule=like("self"), tests=[OpTest("qr", tol=_TOL)])
def qr(op: Op, self: Value, some: bool = True) -> tuple[Value, ...]:
    """The QR factorization of matrices."""
    return qr_of(op, self, "reduced" if some else "complete")


@aten("aten::geqrf", rule=like("self"), tests=[OpTest("geqrf", tol=_TOL)])
def geqrf(op: Op, self: Value) -> tuple[Value, ...]:
    """The QR factorization in LAPACK's packed form."""
    return householder(op, self)


def _product_of(op: Op, packed: Any, tau: Any) -> Any:
    rows, columns = size(op, real_part(packed), -2), size(op, real_part(packed), -1)
    return reflected(op, packed, tau, eye_of(op, packed, rows, columns))


@aten(
    "aten::linalg_householder_product",
    rule=like("input"),
    tests=[OpTest("linalg.householder_product", tol=_TOL)],
)
def linalg_householder_product(op: Op, input: Value, tau: Value) -> Any:
    """The first columns of the product of reflections."""
    return _product_of(op, input, tau)


@aten("aten::orgqr", rule=like("self"), untested="OpInfos call linalg_householder_product")
def orgqr(op: Op, self: Value, input2: Value) -> Any:
    """The first columns of the product of reflections."""
    return _product_of(op, self, input2)


@aten("aten::ormqr", rule=like("self"), tests=[OpTest("ormqr", tol=_TOL)])
def ormqr(
    op: Op, self: Value, input2: Value, input3: Value, left: bool = True, transpose: bool = False
) -> Any:
    """A matrix multiplied by the product of reflections, from one side."""
    if left:
        return reflected(op, self, input2, input3, adjoint=transpose)
    turned = algebra.adjoint(op, input3)
    return algebra.adjoint(op, reflected(op, self, input2, turned, adjoint=not transpose))


def _polynomial(op: Op, a: Value, blocks: int) -> Any:
    """The first terms of the series of the exponential, four for each block.

    Source: Paterson and Stockmeyer, On the number of nonscalar multiplications necessary to
    evaluate polynomials, 1973.
    """
    one = eye_of(op, a, size(op, real_part(a), -1), size(op, real_part(a), -1))
    square = algebra.matmul(op, a, a)
    powers = [one, a, square, algebra.matmul(op, square, a)]
    fourth = algebra.matmul(op, square, square)
    result: Any = None
    for block in reversed(range(blocks)):
        terms = [
            algebra.scale(op, p, 1 / math.factorial(4 * block + i)) for i, p in enumerate(powers)
        ]
        total = terms[0]
        for term in terms[1:]:
            total = algebra.add(op, total, term)
        if result is not None:
            total = algebra.add(op, total, algebra.matmul(op, result, fourth))
        result = total
    return result


def _exponential(op: Op, a: Value) -> Any:
    """By scaling to a norm where the series of five blocks is exact, and squaring."""
    x = real_part(a)
    if 0 in x.shape:
        return a
    sums = op.ReduceSum(op.Sqrt(squared(op, a)), [x.rank - 2], keepdims=1)
    norm = op.ReduceMax(sums, [x.rank - 1], keepdims=1)
    # 2**20 / 20! and 1 / 20!: below the rounding of the type.
    bound = 2.0 if x.onnx_dtype is DType.FLOAT else 1.0
    over = op.Max(op.Div(norm, bound), 1.0)
    times = op.Ceil(op.Div(op.Log(over), math.log(2.0)))
    factor = op.Pow(scalar(op, 0.5, x.onnx_dtype), times)
    scaled = algebra.each(lambda v: op.Mul(v, factor), a)
    start = _polynomial(op, scaled, 5)
    count = op.Cast(op.ReduceMax(times, keepdims=0), to=DType.INT64)
    whole = op.Cast(times, to=DType.INT64)

    def step(k: Value, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        square = algebra.matmul(op, states[0], states[0])
        return [factors.choose(op, op.Greater(whole, k), square, states[0])], []

    return factors.repeat(op, count, [start], step)[0][0]


@aten(
    "aten::matrix_exp",
    "aten::linalg_matrix_exp",
    rule=like("self"),
    tests=[
        OpTest(
            "matrix_exp",
            tol=_EXP,
            xfail=[
                XFail(
                    "torch's own result is not a number: its powers overflow in half precision",
                    dtypes=("float16", "bfloat16"),
                    matcher=lambda s: s.input.numel() > 0,
                )
            ],
        )
    ],
)
def matrix_exp(op: Op, self: Value) -> Any:
    """The exponential of square matrices; of half precision in float32.

    Source: Moler and Van Loan, Nineteen dubious ways to compute the exponential of a matrix,
    method 3.
    """
    if real_part(self).onnx_dtype in (DType.FLOAT16, DType.BFLOAT16):
        return cast(op, _exponential(op, cast(op, self, DType.FLOAT)), self.onnx_dtype)
    return _exponential(op, self)


for _function in (linalg_qr, qr, geqrf, linalg_householder_product, orgqr, ormqr, matrix_exp):
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
