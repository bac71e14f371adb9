"""Functions of two tensors beyond arithmetic: angles, signs, logarithms, divisors, neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import accurate, complex_math
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.binary import mul, pow_
from onnxwright.atenlib.ops.unary import largest
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import Rule, custom, elementwise
from onnxwright.types.dtypes import DType

FLOATS = elementwise(("self", "other"), promote="int_to_float", at_least=DType.FLOAT)


@aten("aten::atan2", "aten::arctan2", "prims::atan2", rule=FLOATS)
def atan2(op: Op, self: Value, other: Value) -> Value:
    """The angle of the point (other, self)."""
    return accurate.atan2(op, self, other)


@aten("aten::hypot", "prims::hypot", rule=FLOATS)
def hypot(op: Op, self: Value, other: Value) -> Value:
    """`sqrt(a^2 + b^2)`."""
    return complex_math.hypot(op, self, other)


@aten("aten::copysign.Tensor", "aten::copysign.Scalar", rule=FLOATS)
def copysign(op: Op, self: Value, other: Value | Number) -> Value:
    """The size of the one with the sign of the other; -0.0 is negative."""
    size = op.Abs(self)
    if not is_value(other):
        return op.Neg(size) if math.copysign(1.0, other) < 0 else size
    return op.Where(accurate.negative(op, other), op.Neg(size), size)


@aten("aten::nextafter", "prims::nextafter", rule=elementwise(("self", "other")))
def nextafter(op: Op, self: Value, other: Value) -> Value:
    """The neighbour of a number in the direction of another.

    Half a unit of the last place, and a little, rounds to the neighbour.
    Source: S. M. Rump et al., "Computing predecessor and successor in rounding to nearest", BIT 49
    (2009).
    """
    dtype = self.onnx_dtype
    unit, least = _UNITS[dtype]
    finite = op.Clip(self, -largest(dtype), largest(dtype))
    step = op.Max(op.Mul(op.Abs(finite), unit * (1.0 + 2.0 * unit)), least)
    moved = op.Add(finite, op.Mul(step, op.Sign(op.Sub(other, finite))))
    infinite = op.Greater(op.Abs(self), largest(dtype))
    moved = op.Where(infinite, finite, moved)
    return op.Where(op.Equal(self, other), other, moved)


# The relative rounding error, and the least number above zero.
_UNITS = {
    DType.FLOAT16: (2.0**-11, 2.0**-24),
    DType.BFLOAT16: (2.0**-8, 2.0**-133),
    DType.FLOAT: (2.0**-24, 2.0**-149),
    DType.DOUBLE: (2.0**-53, 2.0**-1074),
}


@aten("aten::ldexp.Tensor", rule=Rule(), complex="same")
def ldexp(op: Op, self: Value, other: Value) -> Any:
    """`self * 2 ** other`."""
    return mul(op, self, pow_(op, 2.0, other))


@aten("aten::frexp.Tensor", rule=custom(lambda a: a["self"].onnx_dtype))
def frexp(op: Op, self: Value) -> tuple[Any, Any]:
    """A fraction in [1/2, 1) and the exponent of two that make the number."""
    x = op.Cast(self, to=DType.DOUBLE)
    size = op.Abs(x)
    usual = op.And(op.Greater(size, 0.0), op.Less(size, math.inf))
    one = op.constant(np.array(1.0))
    size = op.Where(usual, size, one)
    exponent = op.Floor(op.Div(op.Log(size), math.log(2.0)))
    # The quotient of logarithms may be off by one next to a power of two.
    scaled = op.Div(size, op.Pow(op.constant(np.array(2.0)), exponent))
    exponent = op.Add(exponent, op.Cast(op.GreaterOrEqual(scaled, 2.0), to=DType.DOUBLE))
    exponent = op.Sub(exponent, op.Cast(op.Less(scaled, 1.0), to=DType.DOUBLE))
    fraction = op.Mul(op.Div(x, op.Pow(op.constant(np.array(2.0)), exponent)), 0.5)
    whole = op.Cast(op.Add(exponent, 1.0), to=DType.INT32)
    return (
        cast(op, op.Where(usual, fraction, x), self.onnx_dtype),
        op.Where(usual, whole, op.constant(np.array(0, np.int32))),
    )


@aten(
    "aten::xlogy.Tensor",
    "aten::xlogy.Scalar_Other",
    "aten::xlogy.Scalar_Self",
    "aten::special_xlogy",
    "aten::special_xlogy.other_scalar",
    "aten::special_xlogy.self_scalar",
    rule=FLOATS,
)
def xlogy(op: Op, self: Value | Number, other: Value | Number) -> Value:
    """`x log(y)`, zero where x is (NaN where y is)."""
    self, other = _two(op, self, other)
    return _product_with(op, self, other, op.Log(other))


@aten(
    "aten::special_xlog1py",
    "aten::special_xlog1py.other_scalar",
    "aten::special_xlog1py.self_scalar",
    rule=FLOATS,
    tests=[OpTest("special.xlog1py")],
)
def xlog1py(op: Op, self: Value | Number, other: Value | Number) -> Value:
    """`x log(1 + y)`, zero where x is (NaN where y is)."""
    self, other = _two(op, self, other)
    return _product_with(op, self, other, accurate.log1p(op, other))


def _two(op: Op, a: Value | Number, b: Value | Number) -> tuple[Value, Value]:
    dtype = next(x.onnx_dtype for x in (a, b) if is_value(x))
    return (
        a if is_value(a) else scalar(op, a, dtype),
        b if is_value(b) else scalar(op, b, dtype),
    )


def _product_with(op: Op, x: Value, y: Value, logarithm: Any) -> Value:
    nothing = op.And(op.Equal(x, 0.0), op.Not(op.IsNaN(y)))
    zero = op.constant(np.array(0, x.onnx_dtype.numpy))
    return op.Where(nothing, zero, op.Mul(x, logarithm))


@aten("aten::logaddexp", rule=FLOATS)
def logaddexp(op: Op, self: Value, other: Value) -> Value:
    """`log(exp(a) + exp(b))`."""
    tail = accurate.softplus(op, op.Neg(op.Abs(op.Sub(self, other))))
    return _joined(op, self, other, tail, math.log(2.0))


@logaddexp.on_complex
def _logaddexp_complex(op: Op, self: Complex, other: Complex) -> Complex:
    first = op.GreaterOrEqual(self.real, other.real)
    high = _choice(op, first, self, other)
    low = _choice(op, first, other, self)
    tail = complex_math.exp(op, complex_math.subtract(op, low, high))
    return complex_math.add(op, high, complex_math.log1p(op, tail))


def _choice(op: Op, condition: Value, a: Complex, b: Complex) -> Complex:
    return Complex(op.Where(condition, a.real, b.real), op.Where(condition, a.imag, b.imag))


@aten("aten::logaddexp2", rule=FLOATS)
def logaddexp2(op: Op, self: Value, other: Value) -> Value:
    """`log2(2 ** a + 2 ** b)`."""
    distance = op.Mul(op.Abs(op.Sub(self, other)), -math.log(2.0))
    tail = op.Div(accurate.softplus(op, distance), math.log(2.0))
    return _joined(op, self, other, tail, 1.0)


def _joined(op: Op, a: Value, b: Value, tail: Any, twice: float) -> Value:
    """The greater of two plus a tail; equal ones (infinite ones too) plus a constant."""
    high = op.Max(a, b)
    return op.Where(op.Equal(a, b), op.Add(a, twice), op.Add(high, tail))


@aten("aten::gcd", "prims::gcd", rule=elementwise(("self", "other")))
def gcd(op: Op, self: Value, other: Value) -> Any:
    """The greatest common divisor, by Euclid's algorithm on all elements at once."""
    dtype = self.onnx_dtype
    zero, one = (op.constant(np.array(v, dtype.numpy)) for v in (0, 1))
    self, other = (x if dtype.is_unsigned else op.Abs(x) for x in (self, other))
    # Both in the common shape, for a loop keeps shapes.
    wide = op.Mul(other, zero)
    a, b = op.Add(self, wide), op.Add(other, op.Mul(self, zero))

    def unfinished(x: Value) -> Value:
        return op.Greater(op.ReduceSum(op.Cast(op.Not(op.Equal(x, zero)), to=7), keepdims=0), 0)

    def step(i: Any, go: Any, a: Value, b: Value) -> tuple[Any, ...]:
        done = op.Equal(b, zero)
        rest = op.Mod(a, op.Where(done, one, b))
        rest = op.Where(done, zero, rest)
        return unfinished(rest), op.Where(done, a, b), rest

    divisor, _ = op.Loop(None, unfinished(b), a, b, body=step)
    return divisor


@aten("aten::lcm", rule=elementwise(("self", "other")))
def lcm(op: Op, self: Value, other: Value) -> Value:
    """The least common multiple; zero where one is zero."""
    dtype = self.onnx_dtype
    divisor = gcd.body(op, self, other)
    one = op.constant(np.array(1, dtype.numpy))
    divisor = op.Where(op.Equal(divisor, 0), one, divisor)
    product = op.Mul(op.Div(self, divisor), other)
    return product if dtype.is_unsigned else op.Abs(product)
