"""Functions of angles and of hyperbolas with their inverses, of real and complex numbers."""

from __future__ import annotations

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import accurate, complex_math
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise

ONE = elementwise(promote="int_to_float", no_bfloat16=True)


@aten("aten::sin", "prims::sin", rule=ONE, tests=[OpTest("sin")])
def sin(op: Op, self: Value) -> Value:
    """The sine."""
    return op.Sin(self)


@sin.on_complex
def _sin_complex(op: Op, self: Complex) -> Complex:
    return complex_math.sin(op, self)


@aten("aten::cos", "prims::cos", rule=ONE, tests=[OpTest("cos")])
def cos(op: Op, self: Value) -> Value:
    """The cosine."""
    return op.Cos(self)


@cos.on_complex
def _cos_complex(op: Op, self: Complex) -> Complex:
    return complex_math.cos(op, self)


@aten("aten::tan", "prims::tan", rule=ONE, tests=[OpTest("tan")])
def tan(op: Op, self: Value) -> Value:
    """The tangent."""
    return accurate.tan(op, self)


@tan.on_complex
def _tan_complex(op: Op, self: Complex) -> Complex:
    return complex_math.tan(op, self)


@aten("aten::asin", "aten::arcsin", "prims::asin", rule=ONE, tests=[OpTest("asin")])
def asin(op: Op, self: Value) -> Value:
    """The arc sine."""
    return accurate.asin(op, self)


@asin.on_complex
def _asin_complex(op: Op, self: Complex) -> Complex:
    return complex_math.asin(op, self)


@aten("aten::acos", "aten::arccos", "prims::acos", rule=ONE, tests=[OpTest("acos")])
def acos(op: Op, self: Value) -> Value:
    """The arc cosine."""
    return accurate.acos(op, self)


@acos.on_complex
def _acos_complex(op: Op, self: Complex) -> Complex:
    return complex_math.acos(op, self)


@aten("aten::atan", "aten::arctan", "prims::atan", rule=ONE, tests=[OpTest("atan")])
def atan(op: Op, self: Value) -> Value:
    """The arc tangent."""
    return accurate.atan(op, self)


@atan.on_complex
def _atan_complex(op: Op, self: Complex) -> Complex:
    return complex_math.atan(op, self)


@aten("aten::sinh", "prims::sinh", rule=ONE, tests=[OpTest("sinh")])
def sinh(op: Op, self: Value) -> Value:
    """The hyperbolic sine."""
    return accurate.sinh(op, self)


@sinh.on_complex
def _sinh_complex(op: Op, self: Complex) -> Complex:
    return complex_math.sinh(op, self)


@aten("aten::cosh", "prims::cosh", rule=ONE, tests=[OpTest("cosh")])
def cosh(op: Op, self: Value) -> Value:
    """The hyperbolic cosine."""
    return accurate.cosh(op, self)


@cosh.on_complex
def _cosh_complex(op: Op, self: Complex) -> Complex:
    return complex_math.cosh(op, self)


@aten("aten::tanh", "prims::tanh", rule=ONE, tests=[OpTest("tanh")])
def tanh(op: Op, self: Value) -> Value:
    """The hyperbolic tangent."""
    return op.Tanh(self)


@tanh.on_complex
def _tanh_complex(op: Op, self: Complex) -> Complex:
    return complex_math.tanh(op, self)


@aten("aten::asinh", "aten::arcsinh", "prims::asinh", rule=ONE, tests=[OpTest("asinh")])
def asinh(op: Op, self: Value) -> Value:
    """The inverse hyperbolic sine."""
    return accurate.asinh(op, self)


@asinh.on_complex
def _asinh_complex(op: Op, self: Complex) -> Complex:
    return complex_math.asinh(op, self)


@aten("aten::acosh", "aten::arccosh", "prims::acosh", rule=ONE, tests=[OpTest("acosh")])
def acosh(op: Op, self: Value) -> Value:
    """The inverse hyperbolic cosine."""
    return accurate.acosh(op, self)


@acosh.on_complex
def _acosh_complex(op: Op, self: Complex) -> Complex:
    return complex_math.acosh(op, self)


@aten("aten::atanh", "aten::arctanh", "prims::atanh", rule=ONE, tests=[OpTest("atanh")])
def atanh(op: Op, self: Value) -> Value:
    """The inverse hyperbolic tangent."""
    return accurate.atanh(op, self)


@atanh.on_complex
def _atanh_complex(op: Op, self: Complex) -> Complex:
    return complex_math.atanh(op, self)
