"""Random numbers that ONNX Runtime's CPU draws at every opset version.

Its RandomUniform, RandomNormal, Bernoulli and their kin end at opset 21.  The mask of a Dropout in
training is drawn at all of them (and kept by the optimizer, which removes the Dropout itself where
the mask is not used), so from opset 22 on the bits of a uniform number are such masks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, scalar, vector
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.types.dtypes import DType

_FIRST_WITHOUT = 22
# As many bits as a mantissa has, as torch draws them.
_BITS = {DType.FLOAT: 24, DType.DOUBLE: 53}


def dropout_mask(op: Op, like: Any, p: float) -> Any:
    """Which elements of a tensor stay in dropout, each with a probability of `1 - p`.

    Args:
        like: a floating-point value, for its shape.
        p: the probability to be dropped, 0 to 1.

    Returns:
        BOOL, of the shape of `like`.
    """
    data = cast(op, like, DType.FLOAT) if like.onnx_dtype.bits < 32 else like
    if p >= 1:
        return op.And(op.Equal(data, data), False)
    ratio, train = scalar(op, float(p), DType.FLOAT), op.constant(np.array(True))
    return op.Dropout(data, ratio, train, _outputs=2)[1]


def uniform(op: Op, shape: Sequence[Size], dtype: DType = DType.FLOAT) -> Value:
    """Numbers in [0, 1), all alike.

    Args:
        shape: sizes, ints or values.
        dtype: FLOAT or DOUBLE.
    """
    if op.version < _FIRST_WITHOUT:
        zeros = op.ConstantOfShape(vector(op, shape), value=np.zeros(1, np.float32))
        return op.RandomUniformLike(zeros, dtype=dtype)
    count = _BITS[dtype]
    ones = np.ones(1, np.float32)
    many = op.ConstantOfShape(vector(op, [*shape, count]), value=ones)
    bits = op.Cast(dropout_mask(op, many, 0.5), to=dtype)
    weights = 2.0 ** -np.arange(1, count + 1)
    bits = op.Mul(bits, op.constant(weights.astype(dtype.numpy)))
    return op.ReduceSum(bits, [len(shape)], keepdims=0)


def normal(op: Op, shape: Sequence[Size], dtype: DType = DType.FLOAT) -> Value:
    """Numbers of mean 0 and variance 1, normally distributed.

    Args:
        shape: sizes, ints or values.
        dtype: FLOAT or DOUBLE.
    """
    if op.version < _FIRST_WITHOUT:
        zeros = op.ConstantOfShape(vector(op, shape), value=np.zeros(1, np.float32))
        return op.RandomNormalLike(zeros, dtype=dtype)
    # The Box-Muller transform; 1 - u is never zero.
    radius = op.Sqrt(op.Mul(op.Log(op.Sub(1.0, uniform(op, shape, dtype))), -2.0))
    return op.Mul(radius, op.Cos(op.Mul(uniform(op, shape, dtype), 2 * math.pi)))
