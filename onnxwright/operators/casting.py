"""Operators that change the element type."""

from __future__ import annotations

import numpy as np

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import free
from onnxwright.operators.folding import constant
from onnxwright.operators.op_call import Array, OpCall, UnknownError
from onnxwright.operators.record import ALWAYS, OperatorFacts
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import Shape


def _cast_dims(call: OpCall) -> Shape:
    if call.tensor(0).dtype not in (DType.INT64, DType.INT32):
        raise UnknownError
    return call.dims(0)


def _fold_cast(call: OpCall) -> Array:
    x, to = constant(call, 0), DType(call.attr("to"))
    return _cast_array(x, to)


def _cast_array(x: Array, to: DType) -> Array:
    """An array as another type.

    Args:
        to: the type; not one of fewer than 16 bits for floats, nor STRING.

    Raises:
        UnknownError: the result depends on who computes it.
    """
    source = DType.from_numpy(x.dtype)
    for dtype in (source, to):
        narrow = (dtype.is_float or dtype.is_integer) and dtype.bits < 8
        if (
            dtype is DType.STRING
            or dtype.is_complex
            or narrow
            or (dtype.is_float and dtype.bits < 16)
        ):
            raise UnknownError
    if source.is_float and to.is_integer and x.size:
        wide = x.astype(np.float64)
        low = -(2.0 ** (to.bits - 1)) if to.is_signed else 0.0
        high = 2.0 ** (to.bits - 1 if to.is_signed else to.bits)
        cut = np.trunc(wide)
        if not np.isfinite(wide).all() or cut.min() < low or cut.max() >= high:
            raise UnknownError
    return x.astype(to.numpy)


FACTS = (
    OperatorFacts("BitCast", elementwise=True, cheap=True, flops=free),
    OperatorFacts(
        "Cast",
        correctly_rounded=True,
        elementwise=True,
        cheap=True,
        infer=first_input,
        dims=_cast_dims,
        folding=ALWAYS,
        fold=_fold_cast,
        flops=free,
    ),
    OperatorFacts(
        "CastLike",
        correctly_rounded=True,
        elementwise=True,
        cheap=True,
        infer=first_input,
        dims=_cast_dims,
        flops=free,
    ),
)
