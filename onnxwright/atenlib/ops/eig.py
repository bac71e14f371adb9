"""Eigenvalues and eigenvectors of general matrices, by the QR algorithm in complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex, real_part
from onnxwright.atenlib.helpers import algebra, complex_math
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import full, iota, scalar
from onnxwright.atenlib.helpers.factorizations import choose, magnitude, only
from onnxwright.atenlib.helpers.sizes import size, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.qr import eye_of, qr_of, squared
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType

# LAPACK computes in float32; ours in DOUBLE.
_TOL = {name: Tol(2e-3, 2e-3) for name in ("float32", "complex64")}
# Iterations for each eigenvalue; two or three are usual.
_TURNS = 12
_EPSILON = 2.0**-52


def _picked(op: Op, x: Complex, rows: Size, columns: Size) -> Complex:
    """The element that two masks `[..., n]` pick in each matrix, `[..., 1, 1]`."""
    mask = op.And(op.Unsqueeze(rows, [-1]), op.Unsqueeze(columns, [-2]))
    rank = real_part(x).rank
    return algebra.reduce_sum(op, only(op, mask, x), [rank - 2, rank - 1], keepdims=True)


def _shift(op: Op, t: Complex, rows: Size, end: Any) -> Complex:
    """Wilkinson's: the eigenvalue of the last two rows that is closest to the last element."""
    last, before = op.Equal(rows, end), op.Equal(rows, op.Sub(end, 1))
    a, b = _picked(op, t, before, before), _picked(op, t, before, last)
    c, d = _picked(op, t, last, before), _picked(op, t, last, last)
    mean = algebra.scale(op, algebra.add(op, a, d), 0.5)
    half = algebra.scale(op, algebra.sub(op, a, d), 0.5)
    inner = algebra.add(op, algebra.mul(op, half, half), algebra.mul(op, b, c))
    root = complex_math.sqrt(op, inner)
    one, other = algebra.add(op, mean, root), algebra.sub(op, mean, root)
    nearer = op.LessOrEqual(
        squared(op, algebra.sub(op, one, d)), squared(op, algebra.sub(op, other, d))
    )
    return choose(op, nearer, one, other)


def schur(op: Op, a: Complex) -> tuple[Complex, Complex]:
    """`Q` and an upper triangular `T` with `a == Q @ T @ Q^H`.

    Args:
        a: `[..., n, n]`, its parts of type DOUBLE.

    Returns:
        `Q` and `T`.

    Source: Golub and Van Loan, Matrix Computations, section 7.5, on full matrices.
    """
    n, rank = size(op, a.real, -1), a.real.rank
    rows = iota(op, n)
    one = eye_of(op, a, n, n)
    axes = [rank - 2, rank - 1]
    length = op.Sqrt(op.ReduceSum(squared(op, a), axes, keepdims=1))
    small = op.Mul(length, _EPSILON)
    front = sizes(op, a.real)[:-2]
    top = op.Sub(scalar(op, n, DType.INT64), 1)

    def step(i: Any, states: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        q, t, end = states  # `end` is the last row that is not done yet, [..., 1]
        left = op.And(
            op.Unsqueeze(op.Equal(rows, end), [-1]), op.Unsqueeze(op.Less(rows, end), [-2])
        )
        rest = op.ReduceSum(magnitude(op, only(op, left, t)), axes, keepdims=1)
        is_done = op.LessOrEqual(rest, small)
        t = only(op, op.Not(op.And(left, is_done)), t)
        end = op.Max(op.Sub(end, op.Cast(op.Squeeze(is_done, [rank - 1]), to=DType.INT64)), 0)
        shift = _shift(op, t, rows, end)
        # Now and then another one, for matrices that a shift leaves as they are.
        stuck = op.Equal(op.Mod(i, 8), 7)
        apart = op.Where(stuck, op.Mul(length, 0.3), 0.0)
        shift = Complex(op.Add(shift.real, apart), op.Add(shift.imag, op.Mul(apart, 0.7)))
        diagonal = algebra.mul(op, shift, one)
        turn, upper = qr_of(op, algebra.sub(op, t, diagonal))
        turned = algebra.add(op, algebra.matmul(op, upper, turn), diagonal)
        goes_on = op.Unsqueeze(op.Greater(end, 0), [-1])
        t = choose(op, goes_on, turned, t)
        q = choose(op, goes_on, algebra.matmul(op, q, turn), q)
        return [q, t, end], []

    def going_on(states: Sequence[Value]) -> Value:
        return op.Greater(op.ReduceMax(states[2], keepdims=0), 0)

    turns = op.Mul(scalar(op, n, DType.INT64), _TURNS)
    start = [one, a, op.Add(full(op, [*front, 1], 0, DType.INT64), top)]
    (q, t, _), _ = factors.repeat(op, turns, start, step, going_on=going_on)
    return q, t


def _vectors(op: Op, q: Complex, t: Complex, values: Complex) -> Complex:
    """Eigenvectors of length one, by going up through the triangular matrix."""
    n, rank = size(op, t.real, -1), t.real.rank
    rows = iota(op, n)
    down = op.Unsqueeze(rows, [1])
    strict = only(op, op.Less(down, rows), t)
    size_of_all = op.Sqrt(op.ReduceSum(squared(op, t), [rank - 2, rank - 1], keepdims=1))
    least = op.Max(op.Mul(size_of_all, _EPSILON), np.finfo(np.float64).tiny)

    def step(i: Any, states: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        k = op.Sub(op.Sub(scalar(op, n, DType.INT64), 1), i)
        at = op.Unsqueeze(k, [0])
        row = algebra.each(lambda v: op.Gather(v, at, axis=-2), strict)
        own = algebra.each(lambda v: op.Unsqueeze(op.Gather(v, at, axis=-1), [-1]), values)
        below = algebra.matmul(op, row, states[0])
        apart = algebra.sub(op, algebra.each(lambda v: op.Unsqueeze(v, [-2]), values), own)
        is_near = op.Less(op.Sqrt(squared(op, apart)), least)
        apart = choose(op, is_near, as_complex(op, least, DType.DOUBLE), apart)
        vector = only(op, op.Greater(rows, k), complex_math.divide(op, below, apart))
        one = op.Cast(op.Equal(rows, k), to=DType.DOUBLE)
        vector = Complex(op.Add(vector.real, one), vector.imag)
        return [choose(op, op.Equal(down, k), vector, states[0])], []

    start = algebra.sub(op, t, t)
    x = algebra.matmul(op, q, factors.repeat(op, n, [start], step)[0][0])
    lengths = squared(op, x)
    total = op.Sqrt(op.ReduceSum(lengths, [rank - 2], keepdims=1))
    # The largest element is real, as LAPACK has it.
    largest = op.ArgMax(lengths, axis=-2)
    head = algebra.each(lambda v: op.GatherElements(v, largest, axis=-2), x)
    phase = algebra.conj(op, complex_math.sgn(op, head))
    turned = algebra.mul(op, x, phase)
    vectors: Complex = algebra.each(lambda v: op.Div(v, total), turned)
    return vectors


def eig(op: Op, a: Value, *, vectors: bool) -> tuple[Value, Value | None]:
    """Eigenvalues `[..., n]`, and eigenvectors as columns, if they are asked for."""
    dtype = real_part(a).onnx_dtype
    z = a if isinstance(a, Complex) else as_complex(op, a, dtype)
    if 0 in z.real.shape:
        shape = sizes(op, z.real)[:-1]
        return as_complex(op, full(op, shape, 0, dtype), dtype), z
    wide = algebra.each(lambda v: op.Cast(v, to=DType.DOUBLE), z)
    q, t = schur(op, wide)
    own = only(op, factors.unit(op, size(op, z.real, -1), DType.BOOL), t)
    values = algebra.reduce_sum(op, own, [z.real.rank - 1])
    right_vectors = _vectors(op, q, t, values) if vectors else None

    def back(x: Value) -> Value:
        return algebra.each(lambda v: op.Cast(v, to=dtype), x)

    return back(values), None if right_vectors is None else back(right_vectors)


@aten("aten::linalg_eig", rule=custom(), tests=[OpTest("linalg.eig", tol=_TOL, compare="eig")])
def linalg_eig(op: Op, self: Value) -> tuple[Value, Value | None]:
    """Eigenvalues and eigenvectors of general matrices; both complex."""
    return eig(op, self, vectors=True)


@linalg_eig.on_complex
def eig_complex(op: Op, self: Value) -> tuple[Value, Value | None]:
    return eig(op, self, vectors=True)


@aten(
    "aten::linalg_eigvals",
    rule=custom(),
    tests=[OpTest("linalg.eigvals", tol=_TOL, compare="eig")],
)
def linalg_eigvals(op: Op, self: Value) -> Value:
    """Eigenvalues of general matrices."""
    return eig(op, self, vectors=False)[0]


@linalg_eigvals.on_complex
def eigvals_complex(op: Op, self: Value) -> Value:
    return eig(op, self, vectors=False)[0]
