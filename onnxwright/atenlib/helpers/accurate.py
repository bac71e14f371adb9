"""Functions good to the last digits in FLOAT and DOUBLE, from the operators that have kernels.

ONNX Runtime's CPU has no DOUBLE kernel for `Erf`, `Atan`, `Sinh` and a dozen others, and ONNX has
no `log1p`, `expm1` or `atan2`.  Each function here is the shortest formula that keeps the relative
error at a few units of the last place; values are FLOAT or DOUBLE unless a line says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.types.dtypes import DType


def log1p(op: Op, x: Value) -> Value:
    """`log(1 + x)`: the logarithm of the rounded sum, and what the rounding lost."""
    huge = 2.0**60
    total = op.Add(x, 1.0)
    lost = op.Sub(op.Min(x, huge), op.Sub(op.Min(total, huge), 1.0))
    return op.Add(op.Log(total), op.Div(lost, op.Max(total, 1e-30)))


def expm1(op: Op, x: Value) -> Value:
    """`exp(x) - 1 = tanh(x/2) (exp(x) + 1)`."""
    return op.Mul(op.Tanh(op.Mul(x, 0.5)), op.Add(op.Exp(x), 1.0))


def cosh(op: Op, x: Value) -> Value:
    """The hyperbolic cosine."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Cosh(x)
    half = op.Mul(op.Exp(op.Mul(op.Abs(x), 0.5)), math.sqrt(0.5))
    grown = op.Mul(half, half)
    return op.Add(grown, op.Div(0.25, grown))


def sinh(op: Op, x: Value) -> Value:
    """The hyperbolic sine, `tanh(x/2) (1 + cosh(x))`."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Sinh(x)
    return op.Mul(op.Tanh(op.Mul(x, 0.5)), op.Add(cosh(op, x), 1.0))


def tan(op: Op, x: Value) -> Value:
    """The tangent."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Tan(x)
    return op.Div(op.Sin(x), op.Cos(x))


def _single(op: Op, name: str, x: Value) -> Value:
    """A function of DOUBLE computed in FLOAT, a first approximation."""
    rough = getattr(op, name)(op.Cast(x, to=DType.FLOAT))
    return op.Cast(rough, to=DType.DOUBLE)


def _turned(op: Op, rough: Any, sine: Any, cosine: Any) -> Value:
    """The angle of a point of the unit circle from one that is right to 1e-3.

    With `d = sin(angle - rough)` the angle is `rough + asin(d)`, and `asin(d) = d + d^3 / 6`.
    """
    d = op.Sub(op.Mul(sine, op.Cos(rough)), op.Mul(cosine, op.Sin(rough)))
    cube = op.Mul(op.Mul(op.Mul(d, d), d), 1.0 / 6.0)
    return op.Add(rough, op.Add(d, cube))


def _other_side(op: Op, x: Value) -> Value:
    """`sqrt(1 - x^2)` without loss near one."""
    return op.Sqrt(op.Mul(op.Sub(1.0, x), op.Add(x, 1.0)))


def asin(op: Op, x: Value) -> Value:
    """The arc sine; NaN outside of [-1, 1]."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Asin(x)
    return _turned(op, _single(op, "Asin", x), x, _other_side(op, x))


def acos(op: Op, x: Value) -> Value:
    """The arc cosine; NaN outside of [-1, 1]."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Acos(x)
    return _turned(op, _single(op, "Acos", x), _other_side(op, x), x)


def atan(op: Op, x: Value) -> Value:
    """The arc tangent, in DOUBLE by one exact step from that in FLOAT.

    `atan(x) = y + atan((x cos y - sin y) / (cos y + x sin y))` for any y.
    """
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Atan(x)
    x = op.Clip(x, -1e300, 1e300)
    rough = _single(op, "Atan", x)
    sine, cosine = op.Sin(rough), op.Cos(rough)
    step = op.Div(
        op.Sub(op.Mul(x, cosine), sine),
        op.Add(cosine, op.Mul(x, sine)),
    )
    return op.Add(rough, step)


def atan2(op: Op, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), in (-pi, pi]; a zero's sign counts, as in C."""
    same = op.Equal(op.Abs(x), op.Abs(y))
    # Two zeros or two infinities have no quotient: they lie on an axis or on a diagonal.
    diagonal = op.Where(op.Equal(x, 0.0), y, op.Mul(op.Sign(y), op.Sign(x)))
    angle = atan(op, op.Where(same, diagonal, op.Div(y, x)))
    half_turn = op.constant(np.array(math.pi, x.onnx_dtype.numpy))
    turn = op.Where(negative(op, y), op.Neg(half_turn), half_turn)
    return op.Where(negative(op, x), op.Add(angle, turn), angle)


def negative(op: Op, x: Value) -> Value:
    """Whether the sign bit of a float is set (of NaN: no)."""
    return op.Or(op.Less(x, 0.0), op.Less(op.Reciprocal(x), 0.0))


# Squares stay finite below this; past it, log(2 y) = log(2 limit) + log(y / limit).
_LIMIT = 1e150


def _beyond(op: Op, y: Value) -> Value:
    return op.Log(op.Max(op.Div(y, _LIMIT), 1.0))


def asinh(op: Op, x: Value) -> Value:
    """The inverse hyperbolic sine, `log(y + sqrt(y^2 + 1))` of the absolute value."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Asinh(x)
    y = op.Abs(x)
    small = op.Min(y, _LIMIT)
    square = op.Mul(small, small)
    root = op.Add(op.Sqrt(op.Add(square, 1.0)), 1.0)
    inner = log1p(op, op.Add(small, op.Div(square, root)))
    return op.Mul(op.Sign(x), op.Add(inner, _beyond(op, y)))


def acosh(op: Op, x: Value) -> Value:
    """The inverse hyperbolic cosine; NaN below one."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Acosh(x)
    t = op.Sub(op.Min(x, _LIMIT), 1.0)
    root = op.Mul(op.Sqrt(t), op.Sqrt(op.Add(t, 2.0)))
    return op.Add(log1p(op, op.Add(t, root)), _beyond(op, x))


def atanh(op: Op, x: Value) -> Value:
    """The inverse hyperbolic tangent, `log1p(2 y / (1 - y)) / 2` of the absolute value."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Atanh(x)
    y = op.Abs(x)
    grown = log1p(op, op.Div(op.Mul(y, 2.0), op.Sub(1.0, y)))
    return op.Mul(op.Mul(op.Sign(x), grown), 0.5)


def softplus(op: Op, x: Value) -> Value:
    """`log(1 + exp(x))`."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Softplus(x)
    tail = log1p(op, op.Exp(op.Neg(op.Abs(x))))
    return op.Add(op.Max(x, 0.0), tail)


def fmod(op: Op, a: Value, b: Value | Number) -> Value:
    """What is left of a divided by b, with the sign of a (floats and integers)."""
    return op.Mod(a, b, fmod=1)


def remainder(op: Op, a: Value, b: Value | Number) -> Value:
    """What is left of a divided by b, a value or a number, with the sign of b."""
    if not a.onnx_dtype.is_float:
        return op.Mod(a, b)
    left = op.Mod(a, b, fmod=1)
    if is_value(b):
        opposite = op.Less(op.Mul(left, op.Sign(b)), 0.0)
    else:
        opposite = op.Less(left, 0.0) if b > 0 else op.Greater(left, 0.0)
    return op.Where(opposite, op.Add(left, b), left)


def trunc(op: Op, x: Value) -> Value:
    """The integer next to x on the side of zero."""
    if not x.onnx_dtype.is_float:
        return x
    return op.Where(op.Less(x, 0.0), op.Ceil(x), op.Floor(x))


# erf and its kin by the trapezoidal rule for `exp(-t^2) / (x^2 + t^2)`, at the points
# `(k + 1/2) h` with h = 1/2: the error is exp(-(pi / h)^2), 7e-18.
# Source: D. B. Hunter and T. Regan, "A note on the evaluation of the complementary error
# function", Mathematics of Computation 26 (1972).
_STEP = 0.5
_POINTS = [((k + 0.5) * _STEP) ** 2 for k in range(12)]
_WEIGHTS = [2.0 * _STEP / math.pi * math.exp(-p) for p in _POINTS]


def _fractions(op: Op, square: Any) -> Value:
    """The rule's sum over `weight / (x^2 + point)`."""
    dtype = square.onnx_dtype.numpy
    below = op.Add(op.Unsqueeze(square, [-1]), op.constant(np.array(_POINTS, dtype)))
    weights = op.constant(np.array(_WEIGHTS, dtype).reshape(-1, 1))
    return op.Squeeze(op.MatMul(op.Reciprocal(below), weights), [-1])


def erf(op: Op, x: Value) -> Value:
    """The error function."""
    if x.onnx_dtype is not DType.DOUBLE:
        return op.Erf(x)
    x = op.Clip(x, -1e100, 1e100)
    square = op.Mul(x, x)
    part = op.Mul(op.Mul(x, op.Exp(op.Neg(square))), _fractions(op, square))
    return op.Sub(op.Tanh(op.Mul(x, math.pi / _STEP)), part)


def erfcx(op: Op, x: Value) -> Value:
    """`exp(x^2) erfc(x)`."""
    y = op.Min(op.Abs(x), 1e100)
    square = op.Mul(y, y)
    far = op.Mul(y, _fractions(op, square))
    # The pole's term 2 exp(x^2) / (1 + exp(2 pi x / h)), that belongs to x < pi / h.
    near = op.Sub(op.Min(square, 40.0), softplus(op, op.Mul(y, 2.0 * math.pi / _STEP)))
    pole = op.Mul(op.Exp(near), 2.0)
    right = op.Where(op.Less(y, math.pi / _STEP), op.Add(far, pole), far)
    left = op.Sub(op.Mul(op.Exp(op.Mul(x, x)), 2.0), right)
    return op.Where(op.Less(x, 0.0), left, right)


def erfc(op: Op, x: Value) -> Value:
    """`1 - erf(x)`, with all its digits for large x."""
    y = op.Min(op.Abs(x), 1e100)
    square = op.Mul(y, y)
    far = op.Mul(op.Mul(y, op.Exp(op.Neg(square))), _fractions(op, square))
    pole = op.Div(2.0, op.Add(op.Exp(op.Mul(y, 2.0 * math.pi / _STEP)), 1.0))
    right = op.Where(op.Less(y, math.pi / _STEP), op.Add(far, pole), far)
    return op.Where(op.Less(x, 0.0), op.Sub(2.0, right), right)
