"""Arithmetic and elementary functions of `Complex` values, without needless overflow.

Formulas keep to the branch cuts of C's `<complex.h>`, as torch does.
Source: W. Kahan, "Branch cuts for complex elementary functions" (1987).
"""

from __future__ import annotations

import math

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import accurate
from onnxwright.atenlib.protocols import Number, Op, Value


def hypot(op: Op, a: Value, b: Value) -> Value:
    """`sqrt(a^2 + b^2)` of two float values; the squares do not overflow."""
    a, b = op.Abs(a), op.Abs(b)
    large = op.Max(a, b)
    info = np.finfo(large.onnx_dtype.numpy)
    ratio = op.Div(op.Min(a, b), op.Clip(large, float(info.tiny), float(info.max)))
    return op.Mul(large, op.Sqrt(op.Add(op.Mul(ratio, ratio), 1.0)))


def absolute(op: Op, z: Complex) -> Value:
    """The modulus."""
    return hypot(op, z.real, z.imag)


def angle(op: Op, z: Complex) -> Value:
    """The argument, in (-pi, pi]."""
    return accurate.atan2(op, z.imag, z.real)


def add(op: Op, a: Complex, b: Complex) -> Complex:
    """The sum."""
    return Complex(op.Add(a.real, b.real), op.Add(a.imag, b.imag))


def subtract(op: Op, a: Complex, b: Complex) -> Complex:
    """The difference."""
    return Complex(op.Sub(a.real, b.real), op.Sub(a.imag, b.imag))


def conjugate(op: Op, z: Complex) -> Complex:
    """The complex conjugate."""
    return Complex(z.real, op.Neg(z.imag))


def times_i(op: Op, z: Complex) -> Complex:
    """`i z`."""
    return Complex(op.Neg(z.imag), z.real)


def over_i(op: Op, z: Complex) -> Complex:
    """`z / i`."""
    return Complex(z.imag, op.Neg(z.real))


def scale(op: Op, z: Complex, factor: Number | Value) -> Complex:
    """A complex tensor times a real value or number."""
    return Complex(op.Mul(z.real, factor), op.Mul(z.imag, factor))


def times(op: Op, z: Complex, factor: Number) -> Complex:
    """A complex tensor times a Python number.

    Args:
        factor: a number, complex or not.
    """
    number = complex(factor)
    if number.imag == 0:
        return z if number.real == 1 else scale(op, z, number.real)
    real = op.Sub(op.Mul(z.real, number.real), op.Mul(z.imag, number.imag))
    return Complex(real, op.Add(op.Mul(z.real, number.imag), op.Mul(z.imag, number.real)))


def multiply(op: Op, a: Complex, b: Complex) -> Complex:
    """The product."""
    return Complex(
        op.Sub(op.Mul(a.real, b.real), op.Mul(a.imag, b.imag)),
        op.Add(op.Mul(a.real, b.imag), op.Mul(a.imag, b.real)),
    )


def reciprocal(op: Op, z: Complex) -> Complex:
    """`1 / z`, the divisor brought near one before it is squared."""
    size = op.Max(op.Abs(z.real), op.Abs(z.imag))
    real, imag = op.Div(z.real, size), op.Div(z.imag, size)
    norm = op.Mul(op.Add(op.Mul(real, real), op.Mul(imag, imag)), size)
    return Complex(op.Div(real, norm), op.Neg(op.Div(imag, norm)))


def divide(op: Op, a: Complex, b: Complex) -> Complex:
    """The quotient, the divisor brought near one before it is squared."""
    size = op.Max(op.Abs(b.real), op.Abs(b.imag))
    real, imag = op.Div(b.real, size), op.Div(b.imag, size)
    norm = op.Mul(op.Add(op.Mul(real, real), op.Mul(imag, imag)), size)
    return Complex(
        op.Div(op.Add(op.Mul(a.real, real), op.Mul(a.imag, imag)), norm),
        op.Div(op.Sub(op.Mul(a.imag, real), op.Mul(a.real, imag)), norm),
    )


def sqrt(op: Op, z: Complex) -> Complex:
    """The square root with a real part that is not negative."""
    half = op.Sqrt(op.Mul(op.Add(op.Abs(z.real), absolute(op, z)), 0.5))
    tiny = float(np.finfo(half.onnx_dtype.numpy).tiny)
    other = op.Div(z.imag, op.Max(op.Mul(half, 2.0), tiny))
    left = op.Less(z.real, 0.0)
    signed = op.Where(accurate.negative(op, z.imag), op.Neg(half), half)
    return Complex(op.Where(left, op.Abs(other), half), op.Where(left, signed, other))


def exp(op: Op, z: Complex) -> Complex:
    """The exponential."""
    return scale(op, Complex(op.Cos(z.imag), op.Sin(z.imag)), op.Exp(z.real))


def expm1(op: Op, z: Complex) -> Complex:
    """`exp(z) - 1`, exact near zero too."""
    half = op.Sin(op.Mul(z.imag, 0.5))
    lost = op.Mul(op.Mul(half, half), 2.0)
    real = op.Sub(op.Mul(accurate.expm1(op, z.real), op.Cos(z.imag)), lost)
    return Complex(real, op.Mul(op.Exp(z.real), op.Sin(z.imag)))


def log(op: Op, z: Complex) -> Complex:
    """The natural logarithm, cut along the negative axis."""
    return Complex(op.Log(absolute(op, z)), angle(op, z))


def log1p(op: Op, z: Complex) -> Complex:
    """`log(1 + z)`, exact near zero too."""
    grown = op.Add(op.Mul(z.real, op.Add(z.real, 2.0)), op.Mul(z.imag, z.imag))
    real = op.Mul(accurate.log1p(op, grown), 0.5)
    return Complex(real, accurate.atan2(op, z.imag, op.Add(z.real, 1.0)))


def sin(op: Op, z: Complex) -> Complex:
    """The sine."""
    high, low = accurate.cosh(op, z.imag), accurate.sinh(op, z.imag)
    return Complex(op.Mul(op.Sin(z.real), high), op.Mul(op.Cos(z.real), low))


def cos(op: Op, z: Complex) -> Complex:
    """The cosine."""
    high, low = accurate.cosh(op, z.imag), accurate.sinh(op, z.imag)
    return Complex(op.Mul(op.Cos(z.real), high), op.Neg(op.Mul(op.Sin(z.real), low)))


def sinh(op: Op, z: Complex) -> Complex:
    """The hyperbolic sine."""
    high, low = accurate.cosh(op, z.real), accurate.sinh(op, z.real)
    return Complex(op.Mul(op.Cos(z.imag), low), op.Mul(op.Sin(z.imag), high))


def cosh(op: Op, z: Complex) -> Complex:
    """The hyperbolic cosine."""
    high, low = accurate.cosh(op, z.real), accurate.sinh(op, z.real)
    return Complex(op.Mul(op.Cos(z.imag), high), op.Mul(op.Sin(z.imag), low))


def tanh(op: Op, z: Complex) -> Complex:
    """The hyperbolic tangent; nothing overflows for a large real part."""
    t, sine, cosine = op.Tanh(z.real), op.Sin(z.imag), op.Cos(z.imag)
    slope = op.Mul(op.Sub(1.0, t), op.Add(t, 1.0))
    turned = op.Mul(t, sine)
    below = op.Add(op.Mul(cosine, cosine), op.Mul(turned, turned))
    return Complex(op.Div(t, below), op.Div(op.Mul(op.Mul(sine, cosine), slope), below))


def tan(op: Op, z: Complex) -> Complex:
    """The tangent."""
    return over_i(op, tanh(op, times_i(op, z)))


def asin(op: Op, z: Complex) -> Complex:
    """The arc sine (Kahan)."""
    below, above = _roots(op, z)
    real = accurate.atan2(op, z.real, multiply(op, below, above).real)
    return Complex(real, accurate.asinh(op, multiply(op, conjugate(op, below), above).imag))


def acos(op: Op, z: Complex) -> Complex:
    """The arc cosine (Kahan)."""
    below, above = _roots(op, z)
    real = op.Mul(accurate.atan2(op, below.real, above.real), 2.0)
    return Complex(real, accurate.asinh(op, multiply(op, conjugate(op, above), below).imag))


def _roots(op: Op, z: Complex) -> tuple[Complex, Complex]:
    """The roots of `1 - z` and `1 + z`."""
    minus = Complex(op.Sub(1.0, z.real), op.Neg(z.imag))
    return sqrt(op, minus), sqrt(op, Complex(op.Add(z.real, 1.0), z.imag))


def acosh(op: Op, z: Complex) -> Complex:
    """The inverse hyperbolic cosine (Kahan)."""
    below = sqrt(op, Complex(op.Sub(z.real, 1.0), z.imag))
    above = sqrt(op, Complex(op.Add(z.real, 1.0), z.imag))
    real = accurate.asinh(op, multiply(op, conjugate(op, below), above).real)
    return Complex(real, op.Mul(accurate.atan2(op, below.imag, above.real), 2.0))


def asinh(op: Op, z: Complex) -> Complex:
    """The inverse hyperbolic sine."""
    return over_i(op, asin(op, times_i(op, z)))


def atanh(op: Op, z: Complex) -> Complex:
    """The inverse hyperbolic tangent."""
    square, x = op.Mul(z.imag, z.imag), op.Abs(z.real)
    short, long = op.Sub(1.0, x), op.Add(x, 1.0)
    grown = op.Div(op.Mul(x, 4.0), op.Add(op.Mul(short, short), square))
    turn = accurate.atan2(op, op.Mul(z.imag, 2.0), op.Sub(op.Mul(short, long), square))
    real = op.Mul(op.Mul(accurate.log1p(op, grown), 0.25), op.Sign(z.real))
    return Complex(real, op.Mul(turn, 0.5))


def atan(op: Op, z: Complex) -> Complex:
    """The arc tangent."""
    return over_i(op, atanh(op, times_i(op, z)))


def sgn(op: Op, z: Complex) -> Complex:
    """`z / |z|`, zero for zero."""
    size = absolute(op, z)
    one = op.constant(np.array(1.0, size.onnx_dtype.numpy))
    safe = op.Where(op.Equal(size, 0.0), one, size)
    return Complex(op.Div(z.real, safe), op.Div(z.imag, safe))


def sigmoid(op: Op, z: Complex) -> Complex:
    """`1 / (1 + exp(-z)) = (1 + tanh(z / 2)) / 2`."""
    half = tanh(op, scale(op, z, 0.5))
    return Complex(op.Mul(op.Add(half.real, 1.0), 0.5), op.Mul(half.imag, 0.5))


def power(op: Op, a: Complex, b: Complex) -> Complex:
    """`a ** b = exp(b log(a))`; a power of zero is zero, `0 ** 0` is one."""
    size = absolute(op, a)
    result = exp(op, multiply(op, Complex(op.Log(_above(op, size)), angle(op, a)), b))
    zero = op.Equal(size, 0.0)
    at_zero = op.And(op.Equal(b.real, 0.0), op.Equal(b.imag, 0.0))
    one = op.Cast(at_zero, to=size.onnx_dtype)
    nothing = op.constant(np.array(0.0, size.onnx_dtype.numpy))
    return Complex(op.Where(zero, one, result.real), op.Where(zero, nothing, result.imag))


def _above(op: Op, x: Value) -> Value:
    return op.Max(x, float(np.finfo(x.onnx_dtype.numpy).tiny))


def integer_power(op: Op, z: Complex, n: int) -> Complex:
    """`z ** n` for a small whole number above zero, by squaring."""
    power: Complex | None = None
    while True:
        if n & 1:
            power = z if power is None else multiply(op, power, z)
        n >>= 1
        if not n:
            assert power is not None
            return power
        z = multiply(op, z, z)


LN2, LN10 = math.log(2.0), math.log(10.0)
