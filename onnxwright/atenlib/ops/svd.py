"""Eigenvalues of Hermitian matrices and singular values, by Jacobi rotations in a Loop.

The signs (for complex matrices: the phases) of eigenvectors and of singular vectors are free;
they are not always those that LAPACK happens to give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import full, iota, scalar, vector
from onnxwright.atenlib.helpers.sizes import arithmetic, size, sizes
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.qr import eye_of, first, like_kind, qr_of, squared
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

# Sums in another order than LAPACK's.
_TOL = {name: Tol(1e-3, 1e-4) for name in ("float32", "complex64")}


def _checked(x: Value) -> None:
    if real_part(x).onnx_dtype not in (DType.FLOAT, DType.DOUBLE):
        unsupported("a type other than float32, float64 and complex ones of these")


def _sweeps(x: Value) -> int:
    """Jacobi's method converges quadratically: these are enough for some hundreds of columns."""
    return 12 if real_part(x).onnx_dtype is DType.FLOAT else 15


def _times(op: Op, weight: Value, x: Value) -> Value:
    """A tensor times a real value."""
    return algebra.each(lambda v: op.Mul(weight, v), x)


def _pairs(op: Op, columns: Size, n: Size, step: Any) -> tuple[Any, Any, Any]:
    """The partner of each column, whether that comes after it, and whether it is another one.

    Source: Luk and Park, On parallel Jacobi orderings, 1989 (the modulus ordering).
    """
    partner = op.Mod(op.Sub(op.Add(step, n), columns), n)
    partner = op.Mod(op.Add(partner, n), n)
    return partner, op.Less(columns, partner), op.Not(op.Equal(columns, partner))


def _angles(
    op: Op, here: Any, there: Any, inner: Any, ahead: Any, other: Value
) -> tuple[Value, Value]:
    """Cosines, and sines with the phase: column `i` becomes `c * x[i] - w * x[partner]`.

    Both columns of a pair have the same formula, with sines of different signs.

    Source: Golub and Van Loan, Matrix Computations, section 8.5.2.
    """
    length = op.Sqrt(squared(op, inner)) if isinstance(inner, Complex) else op.Abs(inner)
    live = op.And(op.Greater(length, 0.0), other)
    one = scalar(op, 1.0, length.onnx_dtype)
    whole = op.Where(live, length, one)
    zeta = op.Div(op.Sub(there, here), op.Mul(whole, 2.0))
    side = op.Where(ahead, one, op.Neg(one))
    side = op.Where(op.Equal(zeta, 0.0), side, op.Sign(zeta))
    root = op.Sqrt(op.Add(op.Mul(zeta, zeta), 1.0))
    tangent = op.Div(side, op.Add(op.Abs(zeta), root))
    tangent = op.Where(live, tangent, scalar(op, 0.0, length.onnx_dtype))
    cosine = op.Div(one, op.Sqrt(op.Add(op.Mul(tangent, tangent), 1.0)))
    # The phase first: one over a length may overflow.
    phase = algebra.each(lambda v: op.Div(v, whole), algebra.conj(op, inner))
    return cosine, _times(op, op.Mul(cosine, tangent), phase)


def _turned(op: Op, x: Value, partner: Any, cosine: Any, sine: Any, axis: int) -> Any:
    """All pairs of columns (or rows) rotated."""
    others = algebra.each(lambda v: op.Gather(v, partner, axis=axis), x)
    return algebra.sub(op, _times(op, cosine, x), algebra.mul(op, sine, others))


def _ordered(op: Op, x: Value, order: Any) -> Value:
    """Columns in another order, `[..., n]` for each matrix."""
    wide = op.Unsqueeze(order, [order.rank - 1])

    def one(v: Value) -> Value:
        return op.GatherElements(v, op.Expand(wide, op.Shape(v)), axis=v.rank - 1)

    return algebra.each(one, x)


def _sorted(op: Op, values: Value, *, largest: bool) -> tuple[Any, Any]:
    count = vector(op, [size(op, values, -1)])
    ordered = op.TopK(values, count, axis=values.rank - 1, largest=int(largest))
    return ordered[0], ordered[1]


def _empty(a: Value) -> bool:
    return 0 in real_part(a).shape


def _hermitian(op: Op, a: Value, uplo: str) -> Value:
    """The matrix of one half."""
    if uplo.upper() not in ("L", "U"):
        unsupported(f"UPLO {uplo!r}; there are `L` and `U`")
    upper = int(uplo.upper() == "U")
    one = op.constant(np.array(1 if upper else -1))
    half = algebra.each(lambda v: op.Trilu(v, upper=upper), a)
    strict = algebra.each(lambda v: op.Trilu(v, one, upper=upper), a)
    both = algebra.add(op, half, algebra.adjoint(op, strict))
    if isinstance(both, Complex):
        n = factors.unit(op, size(op, both.real, -1), DType.BOOL)
        return Complex(both.real, factors.only(op, op.Not(n), both.imag))
    return both


def eigh_of(op: Op, a: Value, uplo: str = "L", *, vectors: bool = True) -> tuple[Any, Any]:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Args:
        a: `[..., n, n]`.
        uplo: which half is looked at.

    Returns:
        `[..., n]`, real; and `[..., n, n]`, or None.
    """
    _checked(a)
    n = size(op, real_part(a), -1)
    start = eye_of(op, a, n, n)
    if _empty(a):
        return full(op, sizes(op, real_part(a))[:-1], 0, real_part(a).onnx_dtype), start
    rank = real_part(a).rank
    columns = iota(op, n)
    count = scalar(op, n, DType.INT64)
    inside = factors.unit(op, n, DType.BOOL)

    def diagonal(x: Value) -> Value:
        return algebra.reduce_sum(op, factors.only(op, inside, x), [rank - 2], keepdims=True)

    def step(i: Any, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        matrix = states[0]
        partner, ahead, other = _pairs(op, columns, count, i)

        def across(v: Value) -> Value:
            return op.Gather(v, partner, axis=rank - 1)

        inner = diagonal(algebra.each(across, matrix))
        mirrored = algebra.conj(op, algebra.each(across, inner))
        inner = algebra.scale(op, algebra.add(op, inner, mirrored), 0.5)
        here = diagonal(real_part(matrix))
        cosine, sine = _angles(op, here, across(here), inner, ahead, other)
        matrix = _turned(op, matrix, partner, cosine, sine, rank - 1)
        turned = algebra.transpose(op, cosine)
        matrix = _turned(op, matrix, partner, turned, algebra.adjoint(op, sine), rank - 2)
        if not vectors:
            return [matrix], []
        return [matrix, _turned(op, states[1], partner, cosine, sine, rank - 1)], []

    matrix = _hermitian(op, a, uplo)
    states = [matrix, start] if vectors else [matrix]
    total = op.Mul(count, _sweeps(a))
    last, _ = factors.repeat(op, total, states, step)
    values = algebra.squeeze(op, diagonal(real_part(last[0])), [rank - 2])
    values, order = _sorted(op, values, largest=False)
    return values, _ordered(op, last[1], order) if vectors else None


def rotated(op: Op, a: Value, *, right: bool) -> tuple[Any, Any, Any]:
    """`W`, the lengths of its columns, and `V` with `a @ V == W`; columns of `W` are orthogonal.

    Args:
        a: `[..., m, n]`, not empty.
        right: whether `V` is computed.

    Returns:
        `[..., m, n]`; `[..., n]`; `[..., n, n]` or None.  The lengths are the singular values, in
        no order.

    Source: Hestenes, Inversion of matrices by biorthogonalization and related results, 1958.
    """
    x = real_part(a)
    n, rank = size(op, x, -1), x.rank
    columns = iota(op, n)
    count = scalar(op, n, DType.INT64)
    length = op.Sqrt(squared(op, a)) if isinstance(a, Complex) else op.Abs(a)
    largest = op.ReduceMax(length, [rank - 2, rank - 1], keepdims=1)
    one = scalar(op, 1.0, x.onnx_dtype)
    largest = op.Where(op.Equal(largest, 0.0), one, largest)
    scaled = algebra.each(lambda v: op.Div(v, largest), a)

    def lengths(v: Value) -> Value:
        return op.ReduceSum(squared(op, v), [rank - 2], keepdims=1)

    def step(i: Any, states: Sequence[Value]) -> tuple[list[Any], list[Any]]:
        partner, ahead, other = _pairs(op, columns, count, i)

        def across(v: Value) -> Value:
            return op.Gather(v, partner, axis=rank - 1)

        products = algebra.mul(op, algebra.conj(op, states[0]), algebra.each(across, states[0]))
        inner = algebra.reduce_sum(op, products, [rank - 2], keepdims=True)
        here = lengths(states[0])
        cosine, sine = _angles(op, here, across(here), inner, ahead, other)
        return [_turned(op, s, partner, cosine, sine, rank - 1) for s in states], []

    states = [scaled, eye_of(op, a, n, n)] if right else [scaled]
    last, _ = factors.repeat(op, op.Mul(count, _sweeps(a)), states, step)
    singular_values = op.Mul(op.Sqrt(lengths(last[0])), largest)
    back = _times(op, largest, last[0])
    return back, op.Squeeze(singular_values, [rank - 2]), last[1] if right else None


def is_wide(a: Value) -> bool:
    """Whether matrices are known to have more columns than rows."""
    rows, columns = real_part(a).shape[-2:]
    return isinstance(rows, int) and isinstance(columns, int) and rows < columns


def _count(op: Op, a: Value) -> Size:
    return factors.least_size(op, size(op, real_part(a), -2), size(op, real_part(a), -1))


def singular_values(op: Op, a: Value) -> Value:
    """The singular values of matrices, descending: `[..., min(m, n)]`."""
    _checked(a)
    count = _count(op, a)
    if _empty(a):
        return full(op, [*sizes(op, real_part(a))[:-2], count], 0, real_part(a).onnx_dtype)
    tall = algebra.adjoint(op, a) if is_wide(a) else a
    values, _ = _sorted(op, rotated(op, tall, right=False)[1], largest=True)
    return first(op, values, count, -1)


def svd_of(op: Op, a: Value, *, whole: bool) -> tuple[Any, Any, Any]:
    """`U`, `S` and `V` (not its adjoint) with `a == U @ diag(S) @ V^H`.

    Args:
        a: `[..., m, n]`.
        whole: whether `U` and `V` are square.

    Returns:
        `[..., m, m]`, `[..., min(m, n)]` and `[..., n, n]`; without `whole` the first columns.
    """
    _checked(a)
    if is_wide(a) and not _empty(a):
        right, values, left = svd_of(op, algebra.adjoint(op, a), whole=whole)
        return left, values, right
    rows, columns, count = size(op, real_part(a), -2), size(op, real_part(a), -1), _count(op, a)
    if _empty(a):
        values = full(op, [*sizes(op, real_part(a))[:-2], count], 0, real_part(a).onnx_dtype)
        left = eye_of(op, a, rows, rows if whole else count)
        return left, values, eye_of(op, a, columns, columns if whole else count)
    product, values, right = rotated(op, a, right=True)
    values, order = _sorted(op, values, largest=True)
    values, right = first(op, values, count, -1), _ordered(op, right, order)
    # Columns of no length have no direction: Q gives them one that is orthogonal to the others.
    product = first(op, _ordered(op, product, order), count, -1)
    left, upper = qr_of(op, product, "complete" if whole else "reduced")
    left = _with_phases(op, left, first(op, upper, count, -2), rows if whole else count)
    return left, values, right if whole else first(op, right, count, -1)


def _with_phases(op: Op, q: Value, upper: Value, columns: Size) -> Value:
    """The columns of Q in the direction of the columns that were factored."""
    x = real_part(upper)
    inside = factors.unit(op, size(op, x, -1), DType.BOOL)
    diagonal = algebra.reduce_sum(op, factors.only(op, inside, upper), [x.rank - 2], keepdims=True)
    # The diagonal of R is real, but for a last column that no reflection made so.
    length = op.Sqrt(squared(op, diagonal)) if isinstance(upper, Complex) else op.Abs(diagonal)
    none = op.Equal(length, 0.0)
    one = scalar(op, 1.0, x.onnx_dtype)
    safe = op.Where(none, one, length)
    phases = algebra.each(lambda v: op.Div(v, safe), diagonal)
    phases = factors.choose(op, none, like_kind(op, upper, op.Where(none, one, one)), phases)
    count = size(op, x, -1)
    if count is not columns and count != columns:
        shape = [*sizes(op, x)[:-2], 1, arithmetic(op, "Sub", columns, count)]
        more = full(op, shape, 1, x.onnx_dtype)
        rest = like_kind(op, upper, more)
        phases = algebra.each(lambda v, w: op.Concat(v, w, axis=v.rank - 1), phases, rest)
    return algebra.mul(op, q, phases)


@aten("aten::linalg_eigvalsh", rule=custom(), tests=[OpTest("linalg.eigvalsh", tol=_TOL)])
def linalg_eigvalsh(op: Op, self: Value, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, ascending."""
    return eigh_of(op, self, UPLO, vectors=False)[0]


@aten("aten::linalg_eigh", rule=custom(), tests=[OpTest("linalg.eigh", tol=_TOL, compare="eigh")])
def linalg_eigh(op: Op, self: Value, UPLO: str = "L") -> tuple[Value, ...]:
    """The eigenvalues of Hermitian matrices, ascending, and eigenvectors."""
    return eigh_of(op, self, UPLO)


def _no_vectors(op: Op, a: Value) -> Value:
    return like_kind(op, a, op.constant(np.zeros(0, real_part(a).onnx_dtype.numpy)))


@aten("aten::_linalg_eigh", rule=custom(), untested="OpInfos call linalg_eigh")
def linalg_eigh_inner(
    op: Op, A: Value, UPLO: str = "L", compute_v: bool = True
) -> tuple[Value, ...]:
    """The eigenvalues of Hermitian matrices, ascending, and eigenvectors if asked for."""
    values, vectors = eigh_of(op, A, UPLO, vectors=compute_v)
    return values, vectors if compute_v else _no_vectors(op, A)


@aten("aten::linalg_svdvals", rule=custom(), tests=[OpTest("linalg.svdvals", tol=_TOL)])
def linalg_svdvals(op: Op, A: Value, *, driver: str | None = None) -> Value:
    """The singular values of matrices, descending."""
    del driver  # it names a routine of CUDA
    return singular_values(op, A)


@aten("aten::linalg_svd", rule=like("A"), tests=[OpTest("linalg.svd", tol=_TOL, compare="svd")])
def linalg_svd(
    op: Op, A: Value, full_matrices: bool = True, *, driver: str | None = None
) -> tuple[Value, ...]:
    """The singular value decomposition of matrices."""
    del driver
    left, values, right = svd_of(op, A, whole=full_matrices)
    return left, values, algebra.adjoint(op, right)


@aten("aten::_linalg_svd", rule=custom(), untested="OpInfos call linalg_svd")
def linalg_svd_inner(
    op: Op,
    A: Value,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> tuple[Value, ...]:
    """The singular value decomposition of matrices, or the singular values alone."""
    del driver
    if not compute_uv:
        return _no_vectors(op, A), singular_values(op, A), _no_vectors(op, A)
    left, values, right = svd_of(op, A, whole=full_matrices)
    return left, values, algebra.adjoint(op, right)


@aten("aten::svd", rule=like("self"), tests=[OpTest("svd", tol=_TOL, compare="svd with v")])
def svd(op: Op, self: Value, some: bool = True, compute_uv: bool = True) -> tuple[Value, ...]:
    """The singular value decomposition, with V as it is; zeros for vectors nobody asked for."""
    if compute_uv:
        return svd_of(op, self, whole=not some)
    front, dtype = sizes(op, real_part(self))[:-2], real_part(self).onnx_dtype
    left, right = (
        like_kind(
            op,
            self,
            full(
                op, [*front, size(op, real_part(self), k), size(op, real_part(self), k)], 0, dtype
            ),
        )
        for k in (-2, -1)
    )
    return left, singular_values(op, self), right


for _function in (
    linalg_eigvalsh, linalg_eigh, linalg_eigh_inner, linalg_svdvals, linalg_svd,
    linalg_svd_inner, svd,
):  # fmt: skip
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
