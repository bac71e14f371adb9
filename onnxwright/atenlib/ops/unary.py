"""Elementwise functions of one tensor: signs, rounding, roots, what is finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import accurate, complex_math
from onnxwright.atenlib.helpers.constants import full_like, number
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType


@aten(
    "aten::abs",
    "aten::absolute",
    "prims::abs",
    rule=elementwise(promote="complex_to_float"),
    complex=complex_math.absolute,
)
def abs_(op: Op, self: Value) -> Value:
    """The absolute value, the modulus of a complex number."""
    return self if self.onnx_dtype.is_bool or self.onnx_dtype.is_unsigned else op.Abs(self)


@aten("aten::neg", "aten::negative", "prims::neg", rule=elementwise(), complex="parts")
def neg(op: Op, self: Value) -> Value:
    """The number with the other sign; unsigned integers wrap around."""
    if self.onnx_dtype.is_unsigned:
        return op.Sub(op.constant(np.array(0, self.onnx_dtype.numpy)), self)
    return op.Neg(self)


@aten("aten::positive", rule=elementwise(), complex="parts")
def positive(op: Op, self: Value) -> Value:
    """The tensor itself."""
    return self


@aten("aten::sign", "prims::sign", rule=elementwise())
def sign(op: Op, self: Value) -> Value:
    """-1, 0 or 1."""
    return self if self.onnx_dtype.is_bool else op.Sign(self)


@aten("aten::sgn", rule=elementwise(), complex=complex_math.sgn)
def sgn(op: Op, self: Value) -> Value:
    """-1, 0 or 1; of a complex number the point of the unit circle in its direction."""
    return self if self.onnx_dtype.is_bool else op.Sign(self)


@aten("aten::signbit", "prims::signbit", rule=elementwise(promote="always_bool"))
def signbit(op: Op, self: Value) -> Value:
    """Whether a number is negative; -0.0 is."""
    dtype = self.onnx_dtype
    if dtype.is_bool or dtype.is_unsigned:
        return full_like(op, self, False, DType.BOOL)
    return accurate.negative(op, self) if dtype.is_float else op.Less(self, 0)


@aten("aten::ceil", "prims::ceil", rule=elementwise())
def ceil(op: Op, self: Value) -> Value:
    """The least integer that is not below."""
    return op.Ceil(self) if self.onnx_dtype.is_float else self


@aten("aten::floor", "prims::floor", rule=elementwise())
def floor(op: Op, self: Value) -> Value:
    """The greatest integer that is not above."""
    return op.Floor(self) if self.onnx_dtype.is_float else self


@aten("aten::round", "prims::round", rule=elementwise())
def round_(op: Op, self: Value) -> Value:
    """The nearest integer, the even one of two."""
    return op.Round(self) if self.onnx_dtype.is_float else self


@aten(
    "aten::round.decimals",
    rule=elementwise(),
    tests=[
        OpTest("round:decimals_0"),
        # torch rounds to the half type after each of three steps, the runtime may not.
        OpTest("round:decimals_3", tol={"float16": Tol(2e-3, 2e-3), "bfloat16": Tol(2e-2, 1e-2)}),
        OpTest("round:decimals_neg_3"),
    ],
)
def round_decimals(op: Op, self: Value, decimals: int) -> Any:
    """The nearest number with so many decimal places."""
    if decimals == 0 or not self.onnx_dtype.is_float:
        return round_.body(op, self)
    power = 10.0 ** abs(decimals)
    if decimals > 0:
        return op.Div(op.Round(op.Mul(self, power)), power)
    return op.Mul(op.Round(op.Div(self, power)), power)


@aten("aten::trunc", "aten::fix", "prims::trunc", rule=elementwise())
def trunc(op: Op, self: Value) -> Value:
    """The next integer towards zero."""
    return accurate.trunc(op, self)


@aten("aten::frac", rule=elementwise())
def frac(op: Op, self: Value) -> Value:
    """What is behind the decimal point, with the sign of the number."""
    return op.Sub(self, accurate.trunc(op, self))


@aten(
    "aten::reciprocal",
    "prims::reciprocal",
    rule=elementwise(promote="int_to_float"),
    tests=[OpTest("reciprocal"), OpTest("__rdiv__")],
    complex=complex_math.reciprocal,
)
def reciprocal(op: Op, self: Value) -> Value:
    """One over a number."""
    return op.Reciprocal(self)


@aten("aten::square", rule=elementwise(promote="bool_to_long"))
def square(op: Op, self: Value) -> Value:
    """A number times itself."""
    return op.Mul(self, self)


@square.on_complex
def _square_complex(op: Op, self: Complex) -> Complex:
    return complex_math.multiply(op, self, self)


@aten(
    "aten::sqrt", "prims::sqrt", rule=elementwise(promote="int_to_float"), complex=complex_math.sqrt
)
def sqrt(op: Op, self: Value) -> Value:
    """The square root."""
    return op.Sqrt(self)


@aten("aten::rsqrt", "prims::rsqrt", rule=elementwise(promote="int_to_float", no_bfloat16=True))
def rsqrt(op: Op, self: Value) -> Value:
    """One over the square root."""
    return op.Reciprocal(op.Sqrt(self))


@rsqrt.on_complex
def _rsqrt_complex(op: Op, self: Complex) -> Complex:
    return complex_math.reciprocal(op, complex_math.sqrt(op, self))


@aten("aten::deg2rad", rule=elementwise(promote="int_to_float"))
def deg2rad(op: Op, self: Value) -> Value:
    """Degrees as radians."""
    return op.Mul(self, math.pi / 180.0)


@aten("aten::rad2deg", rule=elementwise(promote="int_to_float"))
def rad2deg(op: Op, self: Value) -> Value:
    """Radians as degrees."""
    return op.Mul(self, 180.0 / math.pi)


@aten("aten::nan_to_num", rule=elementwise(no_bfloat16=True), complex="parts")
def nan_to_num(
    op: Op,
    self: Value,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Value:
    """NaN and infinities replaced by numbers: 0 and the ends of the type by default."""
    dtype = self.onnx_dtype
    if not dtype.is_float:
        return self
    # NaN is the only number that differs from itself.
    cleaned = op.Where(op.Equal(self, self), self, _typed(op, 0.0 if nan is None else nan, dtype))
    if posinf is None and neginf is None:
        return op.Clip(cleaned, -largest(dtype), largest(dtype))
    high = largest(dtype) if posinf is None else posinf
    low = -largest(dtype) if neginf is None else neginf
    cleaned = op.Where(op.Equal(self, math.inf), _typed(op, high, dtype), cleaned)
    return op.Where(op.Equal(self, -math.inf), _typed(op, low, dtype), cleaned)


def largest(dtype: DType) -> float:
    """The greatest finite number of a float type."""
    if dtype is DType.BFLOAT16:
        return 3.3895313892515355e38
    return float(np.finfo(dtype.numpy).max)


def _typed(op: Op, x: float, dtype: DType) -> Value:
    return op.constant(np.array(number(x, dtype), dtype.numpy))


@aten("aten::isnan", rule=elementwise(promote="always_bool", no_bfloat16=True))
def isnan(op: Op, self: Value) -> Value:
    """Whether a number is NaN."""
    if not self.onnx_dtype.is_float:
        return full_like(op, self, False, DType.BOOL)
    return op.IsNaN(self)


@isnan.on_complex
def _isnan_complex(op: Op, self: Complex) -> Value:
    return op.Or(op.IsNaN(self.real), op.IsNaN(self.imag))


@aten("aten::isinf", rule=elementwise(promote="always_bool"))
def isinf(op: Op, self: Value) -> Value:
    """Whether a number is infinite."""
    if not self.onnx_dtype.is_float:
        return full_like(op, self, False, DType.BOOL)
    if op.version < 20 and self.onnx_dtype.bits < 32:
        self = op.Cast(self, to=DType.FLOAT)
    return op.IsInf(self)


@isinf.on_complex
def _isinf_complex(op: Op, self: Complex) -> Value:
    return op.Or(op.IsInf(self.real), op.IsInf(self.imag))


@aten("aten::isfinite", "prims::isfinite", rule=elementwise(promote="always_bool"))
def isfinite(op: Op, self: Value) -> Value:
    """Whether a number is neither infinite nor NaN."""
    if not self.onnx_dtype.is_float:
        return full_like(op, self, True, DType.BOOL)
    return op.Less(op.Abs(self), math.inf)


@isfinite.on_complex
def _isfinite_complex(op: Op, self: Complex) -> Value:
    return op.And(isfinite.body(op, self.real), isfinite.body(op, self.imag))


@aten("aten::isposinf", rule=elementwise(promote="always_bool"))
def isposinf(op: Op, self: Value) -> Value:
    """Whether a number is infinite and positive."""
    if not self.onnx_dtype.is_float:
        return full_like(op, self, False, DType.BOOL)
    return op.Equal(self, math.inf)


@aten("aten::isneginf", rule=elementwise(promote="always_bool"))
def isneginf(op: Op, self: Value) -> Value:
    """Whether a number is infinite and negative."""
    if not self.onnx_dtype.is_float:
        return full_like(op, self, False, DType.BOOL)
    return op.Equal(self, -math.inf)


@aten("aten::isreal", rule=elementwise(promote="always_bool"))
def isreal(op: Op, self: Value) -> Value:
    """Whether a number has no imaginary part."""
    return full_like(op, self, True, DType.BOOL)


@isreal.on_complex
def _isreal_complex(op: Op, self: Complex) -> Value:
    return op.Equal(self.imag, 0.0)
