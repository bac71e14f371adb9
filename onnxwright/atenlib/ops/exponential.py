"""Exponentials, logarithms and their kin, of real and complex numbers."""

from __future__ import annotations

import math

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import accurate, complex_math
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

# One operator of ONNX, or steps that need no more than FLOAT for the half types.
ONE = elementwise(promote="int_to_float", no_bfloat16=True)
STEPS = elementwise(promote="int_to_float", at_least=DType.FLOAT)


@aten("aten::exp", "prims::exp", rule=ONE, complex=complex_math.exp)
def exp(op: Op, self: Value) -> Value:
    """The exponential."""
    return op.Exp(self)


@aten("aten::exp2", "aten::special_exp2", "prims::exp2", rule=ONE)
def exp2(op: Op, self: Value) -> Value:
    """Two to the power of a number."""
    return op.Pow(op.constant(np.array(2.0, self.onnx_dtype.numpy)), self)


@exp2.on_complex
def _exp2_complex(op: Op, self: Complex) -> Complex:
    return complex_math.exp(op, complex_math.scale(op, self, complex_math.LN2))


@aten("aten::expm1", "aten::special_expm1", "prims::expm1", rule=STEPS, complex=complex_math.expm1)
def expm1(op: Op, self: Value) -> Value:
    """`exp(x) - 1`, exact near zero too."""
    return accurate.expm1(op, self)


@aten("aten::log", "prims::log", rule=ONE, complex=complex_math.log)
def log(op: Op, self: Value) -> Value:
    """The natural logarithm."""
    return op.Log(self)


@aten("aten::log2", "prims::log2", rule=STEPS)
def log2(op: Op, self: Value) -> Value:
    """The logarithm to base 2."""
    return op.Div(op.Log(self), math.log(2.0))


@log2.on_complex
def _log2_complex(op: Op, self: Complex) -> Complex:
    return complex_math.scale(op, complex_math.log(op, self), 1.0 / complex_math.LN2)


@aten("aten::log10", "prims::log10", rule=STEPS)
def log10(op: Op, self: Value) -> Value:
    """The logarithm to base 10."""
    return op.Div(op.Log(self), math.log(10.0))


@log10.on_complex
def _log10_complex(op: Op, self: Complex) -> Complex:
    return complex_math.scale(op, complex_math.log(op, self), 1.0 / complex_math.LN10)


@aten("aten::log1p", "aten::special_log1p", "prims::log1p", rule=STEPS, complex=complex_math.log1p)
def log1p(op: Op, self: Value) -> Value:
    """`log(1 + x)`, exact near zero too."""
    return accurate.log1p(op, self)


@aten("aten::sigmoid", "aten::special_expit", rule=ONE, complex=complex_math.sigmoid)
def sigmoid(op: Op, self: Value) -> Value:
    """`1 / (1 + exp(-x))`."""
    return op.Sigmoid(self)


# torch rounds `1 - x` and the quotient to the half type, which shows near `log(1)`.
_LOGIT = {"float16": Tol(2e-3, 2e-3), "bfloat16": Tol(2e-2, 2e-2)}


@aten("aten::logit", "aten::special_logit", rule=STEPS, tests=[OpTest("logit", tol=_LOGIT)])
def logit(op: Op, self: Value, eps: float | None = None) -> Value:
    """`log(x / (1 - x))`, x kept at `eps` from 0 and 1."""
    if eps is not None:
        self = op.Clip(self, eps, 1.0 - eps)
    return op.Log(op.Div(self, op.Sub(1.0, self)))
