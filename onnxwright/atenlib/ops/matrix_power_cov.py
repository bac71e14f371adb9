"""Powers of matrices, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers import factorizations as factors
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.fft import floating
from onnxwright.atenlib.ops.solve import inverse_of
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import promote_types

_TOL = {
    "float32": Tol(2e-3, 2e-4),
    "complex64": Tol(2e-3, 2e-4),
    "float16": Tol(1e-2, 1e-2),
    "bfloat16": Tol(1e-1, 1e-1),
}


def _power(op: Op, x: Value, n: int) -> Any:
    if n < 0:
        x, n = inverse_of(op, x), -n
    if n == 0:
        one = factors.unit(op, size(op, real_part(x), -1), real_part(x).onnx_dtype)
        one = as_complex(op, one, one.onnx_dtype) if isinstance(x, Complex) else one
        return factors.like_batch(op, x, one)
    result: Any = None
    square = x
    while True:
        if n % 2:
            result = square if result is None else algebra.matmul(op, result, square)
        n //= 2
        if not n:
            return result
        square = algebra.matmul(op, square, square)


@aten(
    "aten::matrix_power",
    "aten::linalg_matrix_power",
    rule=like("self"),
    tests=[OpTest("linalg.matrix_power", tol=_TOL)],
)
def matrix_power(op: Op, self: Value, n: int) -> Any:
    """A matrix times itself; of its inverse for negative powers."""
    return _power(op, self, n)


def _covariance(op: Op, x: Value, correction: int, fweights: Any, aweights: Any) -> Value:
    """As torch computes it, step by step; observations are along the last axis."""
    x = floating(op, x)
    if aweights is not None:
        wider = promote_types(real_part(x).onnx_dtype, aweights.onnx_dtype)
        x = algebra.each(lambda v: cast(op, v, wider), x)
    for _ in range(2 - x.rank):
        x = algebra.unsqueeze(op, x, [0])
    dtype = real_part(x).onnx_dtype
    weights = None
    if fweights is not None:
        weights = cast(op, fweights, dtype)
    if aweights is not None:
        weights_given = cast(op, aweights, dtype)
        weights = weights_given if weights is None else op.Mul(weights, weights_given)
    if weights is None:
        total: Any = scalar(op, size(op, real_part(x), 1), dtype)
        mean = algebra.each(lambda v: op.Div(op.ReduceSum(v, [1]), total), x)
    else:
        total = op.ReduceSum(weights, [weights.rank - 1] if weights.rank else None, keepdims=0)
        weighted = algebra.each(lambda v: op.Mul(v, weights), x)
        mean = algebra.each(lambda v: op.Div(op.ReduceSum(v, [1]), total), weighted)
    factor = _factor(op, total, weights, aweights, correction, dtype)
    centred = algebra.sub(op, x, mean)
    left = centred
    if weights is not None:
        left = algebra.each(lambda v: op.Mul(v, weights), centred)
    product = algebra.matmul(op, left, algebra.adjoint(op, centred))
    return algebra.each(lambda v: op.Div(v, factor), product)


def _factor(
    op: Op, total: Size, weights: Any, aweights: Any, correction: int, dtype: DType
) -> Value:
    taken: Any = float(correction)
    if correction and aweights is not None:
        square = op.ReduceSum(op.Mul(weights, cast(op, aweights, dtype)), keepdims=0)
        taken = op.Mul(op.Div(square, total), float(correction))
    return op.Max(op.Sub(total, taken), 0.0)


@aten("aten::cov", rule=custom(), tests=[OpTest("cov", tol=_TOL)])
def cov(
    op: Op,
    self: Value,
    *,
    correction: int = 1,
    fweights: Value | None = None,
    aweights: Value | None = None,
) -> Any:
    """The covariance of variables, one in each row."""
    return _shaped(op, self, _covariance(op, self, correction, fweights, aweights))


def _shaped(op: Op, x: Value, covariance: Any) -> Any:
    """A single variable has a variance without axes."""
    rank, got = real_part(x).rank, real_part(covariance).rank
    if got == 2 and (rank < 2 or real_part(x).shape[0] == 1):
        return algebra.squeeze(op, covariance, [0, 1])
    return covariance


@aten("aten::corrcoef", rule=custom(), tests=[OpTest("corrcoef", tol=_TOL)])
def corrcoef(op: Op, self: Value) -> Any:
    """The correlation of variables, one in each row."""
    covariance = _shaped(op, self, _covariance(op, self, 1, None, None))
    if real_part(covariance).rank == 0:
        return algebra.div(op, covariance, covariance)
    n = factors.unit(op, size(op, real_part(covariance), 0), DType.BOOL)
    variances = op.ReduceSum(
        op.Where(
            n,
            real_part(covariance),
            op.constant(np.zeros((), real_part(covariance).onnx_dtype.numpy)),
        ),
        [1],
    )
    deviations = op.Sqrt(variances)
    across = op.Transpose(deviations, perm=[1, 0])
    scaled = algebra.each(lambda v: op.Div(op.Div(v, deviations), across), covariance)
    return algebra.each(lambda v: op.Clip(v, *_bounds(op, v)), scaled)


def _bounds(op: Op, x: Value) -> tuple[Any, Any]:
    return scalar(op, -1.0, x.onnx_dtype), scalar(op, 1.0, x.onnx_dtype)


for _function in (matrix_power, cov, corrcoef):
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
