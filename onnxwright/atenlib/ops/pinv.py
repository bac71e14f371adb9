"""Pseudoinverses, ranks and conditions of matrices, by their singular values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, full, scalar
from onnxwright.atenlib.helpers.sizes import size, sizes, static
from onnxwright.atenlib.op import TABLE, aten, unsupported
from onnxwright.atenlib.ops.solve import inverse_of
from onnxwright.atenlib.ops.svd import eigh_of, is_wide, rotated, singular_values
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

# Sums in another order than LAPACK's, divided by the smallest singular value.
_TOL = {name: Tol(2e-3, 2e-4) for name in ("float32", "complex64")}


def _bound(op: Op, x: Any, dtype: DType) -> Value:
    """A tolerance, to be compared with `[..., n]`."""
    if not is_value(x):
        return scalar(op, float(x), dtype)
    x = cast(op, x, dtype)
    return op.Unsqueeze(x, [x.rank]) if x.rank else x


def _cutoff(op: Op, a: Value, largest: Any, atol: Any, rtol: Any) -> Value:
    """What counts as zero, `[..., 1]`: the greater of both tolerances, as torch fills them in."""
    dtype = real_part(a).onnx_dtype
    absolute = _bound(op, 0.0 if atol is None else atol, dtype)
    if rtol is None:
        rows, columns = size(op, real_part(a), -2), size(op, real_part(a), -1)
        most = op.Max(*(scalar(op, n, DType.INT64) for n in (rows, columns)))
        relative = op.Mul(cast(op, most, dtype), float(np.finfo(dtype.numpy).eps))
        if atol is not None:
            none = scalar(op, 0.0, dtype)
            relative = op.Where(op.Greater(absolute, none), none, relative)
    else:
        relative = _bound(op, rtol, dtype)
    return op.Max(absolute, op.Mul(relative, largest))


def _inverted(op: Op, values: Value, kept: Any) -> Value:
    one = scalar(op, 1.0, values.onnx_dtype)
    zero = scalar(op, 0.0, values.onnx_dtype)
    return op.Where(kept, op.Div(one, op.Where(kept, values, one)), zero)


def _scaled(op: Op, weights: Any, x: Value) -> Value:
    """Columns times real weights, `[..., n]`."""
    wide = op.Unsqueeze(weights, [weights.rank - 1])
    return algebra.each(lambda v: op.Mul(v, wide), x)


def pseudoinverse(op: Op, a: Value, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """The Moore-Penrose inverse of matrices.

    Args:
        a: `[..., m, n]`.
        atol, rtol: None, numbers, or values of the shape of the batch.
        hermitian: whether the matrices are Hermitian; the lower half is looked at.

    Returns:
        `[..., n, m]`.
    """
    x = real_part(a)
    if 0 in x.shape:
        return algebra.transpose(op, a)
    if hermitian:
        values, vectors = eigh_of(op, a)
        lengths = op.Abs(values)
    elif is_wide(a):
        turned = pseudoinverse(op, algebra.adjoint(op, a), atol, rtol, False)
        return algebra.adjoint(op, turned)
    else:
        product, lengths, vectors = rotated(op, a, right=True)
    largest = op.ReduceMax(lengths, [lengths.rank - 1], keepdims=1)
    kept = op.Greater(lengths, _cutoff(op, a, largest, atol, rtol))
    if hermitian:
        left = _scaled(op, _inverted(op, values, kept), vectors)
        return algebra.matmul(op, left, algebra.adjoint(op, vectors))
    weights = _inverted(op, lengths, kept)
    left, right = _scaled(op, weights, vectors), _scaled(op, weights, product)
    return algebra.matmul(op, left, algebra.adjoint(op, right))


@aten(
    "aten::linalg_pinv.atol_rtol_float",
    "aten::linalg_pinv.atol_rtol_tensor",
    rule=like("self"),
    tests=[
        OpTest("linalg.pinv", tol=_TOL),
        OpTest("linalg.pinv:hermitian", tol=_TOL),
        OpTest("linalg.pinv:singular", tol=_TOL),
    ],
)
def linalg_pinv(
    op: Op,
    self: Value,
    *,
    atol: float | Value | None = None,
    rtol: float | Value | None = None,
    hermitian: bool = False,
) -> Any:
    """The Moore-Penrose inverse of matrices."""
    return pseudoinverse(op, self, atol, rtol, hermitian)


@aten(
    "aten::linalg_pinv",
    "aten::linalg_pinv.rcond_tensor",
    rule=like("self"),
    untested="OpInfos call the overloads with two tolerances",
)
def linalg_pinv_rcond(op: Op, self: Value, rcond: float | Value, hermitian: bool = False) -> Any:
    """The Moore-Penrose inverse of matrices, with a relative tolerance."""
    return pseudoinverse(op, self, 0.0, rcond, hermitian)


@aten("aten::pinverse", rule=like("self"), tests=[OpTest("pinverse", tol=_TOL)])
def pinverse(op: Op, self: Value, rcond: float = 1e-15) -> Any:
    """The Moore-Penrose inverse of matrices, with a relative tolerance."""
    return pseudoinverse(op, self, 0.0, rcond, False)


def _rank(op: Op, a: Value, atol: Any, rtol: Any, hermitian: bool) -> Value:
    x = real_part(a)
    if 0 in x.shape:
        return full(op, sizes(op, x)[:-2], 0, DType.INT64)
    if hermitian:
        values = op.Abs(eigh_of(op, a, vectors=False)[0])
    else:
        values = singular_values(op, a)
    last = values.rank - 1
    largest = op.ReduceMax(values, [last], keepdims=1)
    kept = op.Greater(values, _cutoff(op, a, largest, atol, rtol))
    return op.ReduceSum(cast(op, kept, DType.INT64), [last], keepdims=0)


@aten(
    "aten::linalg_matrix_rank.atol_rtol_float",
    rule=custom(),
    tests=[OpTest("linalg.matrix_rank")],
)
def linalg_matrix_rank(
    op: Op,
    self: Value,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    hermitian: bool = False,
) -> Value:
    """How many singular values count as more than zero."""
    return _rank(op, self, atol, rtol, hermitian)


@aten(
    "aten::linalg_matrix_rank.atol_rtol_tensor",
    rule=custom(),
    tests=[OpTest("linalg.matrix_rank:hermitian")],
)
def linalg_matrix_rank_tensor(
    op: Op,
    input: Value,
    *,
    atol: Value | None = None,
    rtol: Value | None = None,
    hermitian: bool = False,
) -> Value:
    """How many singular values count as more than zero."""
    return _rank(op, input, atol, rtol, hermitian)


@aten("aten::linalg_matrix_rank", rule=custom(), untested="OpInfos give two tolerances")
def linalg_matrix_rank_tol(op: Op, self: Value, tol: float, hermitian: bool = False) -> Value:
    """How many singular values are more than a tolerance."""
    return _rank(op, self, tol, 0.0, hermitian)


@aten("aten::linalg_matrix_rank.tol_tensor", rule=custom(), untested="OpInfos give two tolerances")
def linalg_matrix_rank_tol_tensor(
    op: Op, input: Value, tol: Value, hermitian: bool = False
) -> Value:
    """How many singular values are more than a tolerance."""
    return _rank(op, input, tol, 0.0, hermitian)


@aten("aten::linalg_tensorinv", rule=like("self"), tests=[OpTest("linalg.tensorinv", tol=_TOL)])
def linalg_tensorinv(op: Op, self: Value, ind: int = 2) -> Any:
    """The inverse of a tensor as a map from its last axes to its first `ind`."""
    shape = real_part(self).shape
    if not static(shape):
        unsupported("an inverse of a tensor of unknown sizes")
    rows = math.prod(shape[:ind])
    inverse = inverse_of(op, algebra.reshape(op, self, [rows, math.prod(shape[ind:])]))
    return algebra.reshape(op, inverse, [*shape[ind:], *shape[:ind]])


@aten(
    "aten::linalg_cond",
    "aten::linalg_cond.p_str",
    rule=custom(),
    tests=[OpTest("linalg.cond", tol=_TOL)],
)
def linalg_cond(op: Op, self: Value, p: Number | str | None = None) -> Value:
    """The condition of matrices: by the extreme singular values, or by the norm of the inverse."""
    if p in (None, 2, -2):
        values = singular_values(op, self)
        if 0 in values.shape:
            return full(op, sizes(op, values)[:-1], 0, values.onnx_dtype)
        last = [values.rank - 1]
        most = op.ReduceMax(values, last, keepdims=0)
        least = op.ReduceMin(values, last, keepdims=0)
        return op.Div(least, most) if p == -2 else op.Div(most, least)
    norm = TABLE["aten::linalg_matrix_norm"]
    return op.Mul(norm(op, self, p), norm(op, inverse_of(op, self), p))


for _function in (
    linalg_cond,
    linalg_pinv, linalg_pinv_rcond, pinverse, linalg_matrix_rank, linalg_matrix_rank_tensor,
    linalg_matrix_rank_tol, linalg_matrix_rank_tol_tensor, linalg_tensorinv,
):  # fmt: skip
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
