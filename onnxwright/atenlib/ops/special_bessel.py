"""Bessel functions and their kin, as integrals by the midpoint rule and asymptotic series.

The integrals are over whole periods, or over the whole line with a Gaussian weight, where the rule
converges faster than any power of the step.
Source: M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 9.1, 9.2, 9.6, 9.7, 10.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onnxwright.atenlib.helpers import accurate
from onnxwright.atenlib.helpers.quadrature import (
    midpoints,
    points,
    powers,
    row,
    weighted,
    weighted_twice,
)
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

EXACT = elementwise(promote="int_to_float", at_least=DType.DOUBLE)
EXACT_X = elementwise(("x",), promote="int_to_float", at_least=DType.DOUBLE)
_EULER = 0.57721566490153286061


def _hankel(order: int, count: int) -> list[float]:
    """Coefficients of `1 / x ** k` in the asymptotic series of Bessel functions (9.2.9, 9.7.1)."""
    terms = [1.0]
    for k in range(1, count):
        terms.append(terms[-1] * (4.0 * order**2 - (2 * k - 1) ** 2) / (8.0 * k))
    return terms


def _where_zero(op: Op, x: Value, value: float, other: Value) -> Value:
    return op.Where(op.Equal(x, 0.0), points(op, value), other)


# -- I: exponentially growing --------------------------------------------------------------------

_I_POINTS = 32  # enough below _I_LARGE: the error is I64(x) exp(-x)
_I_LARGE = 50.0


def _scaled_i(op: Op, order: int, x: Value) -> Value:
    """`exp(-|x|) I(x)` of order 0 or 1."""
    y = op.Abs(x)
    cosine = np.cos(midpoints(_I_POINTS))
    inner = op.Mul(row(op, op.Min(y, _I_LARGE)), points(op, cosine - 1.0))
    if order == 0:
        near = weighted(op, op.Exp(inner), np.full(_I_POINTS, 1.0 / _I_POINTS))
    else:  # the cosines add up to nothing: without their ones, small results keep their digits
        near = weighted(op, accurate.expm1(op, inner), cosine / _I_POINTS)
    terms = _hankel(order, 14)
    signed = [t * (-1.0) ** k for k, t in enumerate(terms)]
    big = op.Max(y, _I_LARGE)
    series = weighted(op, powers(op, op.Reciprocal(big), range(len(signed))), signed)
    far = op.Div(series, op.Sqrt(op.Mul(big, 2.0 * math.pi)))
    scaled = op.Where(op.Less(y, _I_LARGE), near, far)
    return op.Mul(scaled, op.Sign(x)) if order else scaled


@aten(
    "aten::i0",
    "aten::special_i0",
    "aten::special_modified_bessel_i0",
    "prims::bessel_i0",
    rule=EXACT,
    tests=[OpTest("i0"), OpTest("special.modified_bessel_i0")],
)
def i0(op: Op, self: Value) -> Value:
    """The modified Bessel function of the first kind of order 0."""
    return op.Mul(_scaled_i(op, 0, self), op.Exp(op.Abs(self)))


@aten("aten::special_i0e", "prims::bessel_i0e", rule=EXACT, tests=[OpTest("special.i0e")])
def i0e(op: Op, self: Value) -> Value:
    """`exp(-|x|) I0(x)`."""
    return _scaled_i(op, 0, self)


@aten(
    "aten::special_i1",
    "aten::special_modified_bessel_i1",
    "prims::bessel_i1",
    rule=EXACT,
    tests=[OpTest("special.i1"), OpTest("special.modified_bessel_i1")],
)
def i1(op: Op, self: Value) -> Value:
    """The modified Bessel function of the first kind of order 1."""
    return op.Mul(_scaled_i(op, 1, self), op.Exp(op.Abs(self)))


@aten("aten::special_i1e", "prims::bessel_i1e", rule=EXACT, tests=[OpTest("special.i1e")])
def i1e(op: Op, self: Value) -> Value:
    """`exp(-|x|) I1(x)`."""
    return _scaled_i(op, 1, self)


# -- J and Y: oscillating ------------------------------------------------------------------------

_J_POINTS = 64
_J_LARGE = 25.0
_J_TERMS = 32  # of Neumann's series for Y
# torch's polynomials are good to 4e-7 (these functions to 1e-14, by mpmath).
_TORCH = {"float64": Tol(1e-5, 1e-6)}


def _neumann(order: int, count: int, terms: int, sign: float) -> list[float]:
    """Weights at the midpoints that give the sum over `J(2k + order)` or `I` in 9.1.88, 9.6.54."""
    theta = midpoints(count)
    total = np.zeros(count)
    for k in range(1, terms + 1):
        wave = np.cos((2 * k + order) * theta)
        if sign < 0 and order == 1:
            wave = np.sin((2 * k + 1) * theta)
        total += sign**k * (order + 2 * k) / (k * (order + k)) * wave
    weights: list[float] = (total / count).tolist()
    return weights


def _oscillating(op: Op, order: int, x: Value) -> tuple[Value, Value]:
    """J of order 0 or 1, and the sum that Y has in addition."""
    theta = midpoints(_J_POINTS)
    inner = op.Mul(row(op, x), points(op, np.sin(theta)))
    waves = op.Sin(inner) if order else op.Cos(inner)
    mean = (np.sin(theta) if order else np.ones(_J_POINTS)) / _J_POINTS
    return weighted_twice(op, waves, mean, _neumann(order, _J_POINTS, _J_TERMS, -1.0))


def _far(op: Op, order: int, x: Value, second: bool) -> Value:
    """J or Y of a large argument (9.2.5, 9.2.6)."""
    terms = _hankel(order, 22)
    inverse = op.Reciprocal(x)
    even = [t * (-1.0) ** k for k, t in enumerate(terms[0::2])]
    odd = [t * (-1.0) ** k for k, t in enumerate(terms[1::2])]
    p = weighted(op, powers(op, inverse, range(0, 22, 2)), even)
    q = weighted(op, powers(op, inverse, range(1, 22, 2)), odd)
    phase = op.Sub(x, (2 * order + 1) * math.pi / 4)
    sine, cosine = op.Sin(phase), op.Cos(phase)
    wave = (
        op.Add(op.Mul(p, sine), op.Mul(q, cosine))
        if second
        else op.Sub(op.Mul(p, cosine), op.Mul(q, sine))
    )
    return op.Mul(wave, op.Sqrt(op.Mul(inverse, 2.0 / math.pi)))


def _first_kind(op: Op, order: int, x: Value) -> Value:
    y = op.Abs(x)
    near, _ = _oscillating(op, order, op.Min(y, _J_LARGE))
    far = _far(op, order, op.Max(y, _J_LARGE), False)
    value = op.Where(op.Less(y, _J_LARGE), near, far)
    value = op.Where(op.IsInf(y), points(op, 0.0), value)
    return op.Mul(value, op.Sign(x)) if order else value


def _second_kind(op: Op, order: int, x: Value) -> Value:
    small = op.Min(x, _J_LARGE)
    first, rest = _oscillating(op, order, small)
    logarithm = op.Add(op.Log(op.Mul(small, 0.5)), _EULER - order)
    near = op.Mul(op.Sub(op.Mul(logarithm, first), rest), 2.0 / math.pi)
    if order:
        zeroth, _ = _oscillating(op, 0, small)
        near = op.Sub(near, op.Div(op.Mul(zeroth, 2.0 / math.pi), small))
    far = _far(op, order, op.Max(x, _J_LARGE), True)
    value = op.Where(op.Less(x, _J_LARGE), near, far)
    value = op.Where(op.IsInf(x), points(op, 0.0), value)
    value = op.Where(op.Less(x, 0.0), points(op, math.nan), value)
    return _where_zero(op, x, -math.inf, value)


def _oscillating_functions(order: int) -> None:
    """Register J and Y of order 0 or 1."""

    def j(op: Op, self: Value) -> Value:
        return _first_kind(op, order, self)

    def y(op: Op, self: Value) -> Value:
        return _second_kind(op, order, self)

    for letter, kind, body in (("j", "first", j), ("y", "second", y)):
        name = f"bessel_{letter}{order}"
        prims = [f"prims::{name}"] if letter == "j" else []
        doc = f"The Bessel function of the {kind} kind of order {order}."
        tests = [OpTest(f"special.{name}", tol=_TORCH)]
        aten(f"aten::special_{name}", *prims, rule=EXACT, tests=tests, doc=doc)(body)


_oscillating_functions(0)
_oscillating_functions(1)


# -- K: exponentially falling --------------------------------------------------------------------

_K_LARGE = 2.0
_K_POINTS = 24
_K_TERMS = 11


def _growing(op: Op, order: int, x: Value) -> tuple[Value, Value]:
    """I of order 0 or 1 at small arguments, and the sum that K has in addition."""
    theta = midpoints(_K_POINTS)
    rows = op.Exp(op.Mul(row(op, x), points(op, np.cos(theta))))
    mean = (np.cos(theta) if order else np.ones(_K_POINTS)) / _K_POINTS
    return weighted_twice(op, rows, mean, _neumann(order, _K_POINTS, _K_TERMS, 1.0))


def _falling(op: Op, order: int, x: Value, scaled: bool) -> Value:
    """K of order 0 or 1, times `exp(x)` where it is asked for."""
    small = op.Min(x, _K_LARGE)
    first, rest = _growing(op, order, small)
    logarithm = op.Add(op.Log(op.Mul(small, 0.5)), _EULER - order)
    near = op.Mul(logarithm, first)
    if order:
        zeroth, _ = _growing(op, 0, small)
        near = op.Add(op.Sub(near, rest), op.Div(zeroth, small))
    else:
        near = op.Sub(rest, near)
    # With x (cosh t - 1) = u^2 / 2 the integral 9.6.24 has a Gaussian weight.
    u = midpoints(22, 8.8)
    big = op.Max(x, _K_LARGE)
    rows = op.Reciprocal(op.Sqrt(op.Add(row(op, big), points(op, u * u / 4))))
    gauss = np.exp(-u * u / 2) * 0.4
    far = weighted(op, rows, gauss)
    if order:
        far = op.Add(far, op.Div(weighted(op, rows, gauss * u * u / 2), big))
    if scaled:
        near = op.Mul(near, op.Exp(small))
    else:
        far = op.Mul(far, op.Exp(op.Neg(big)))
    value = op.Where(op.LessOrEqual(x, _K_LARGE), near, far)
    value = op.Where(op.Less(x, 0.0), points(op, math.nan), value)
    return _where_zero(op, x, math.inf, value)


def _falling_functions(order: int) -> None:
    """Register K of order 0 or 1, and the same times `exp(x)`."""

    def k(op: Op, self: Value) -> Value:
        return _falling(op, order, self, False)

    def scaled(op: Op, x: Value) -> Value:
        return _falling(op, order, x, True)

    name = f"modified_bessel_k{order}"
    doc = f"The modified Bessel function of the second kind of order {order}."
    aten(f"aten::special_{name}", rule=EXACT, tests=[OpTest(f"special.{name}")], doc=doc)(k)
    name, doc = f"scaled_{name}", f"`exp(x) K{order}(x)`."
    aten(f"aten::special_{name}", rule=EXACT_X, tests=[OpTest(f"special.{name}")], doc=doc)(scaled)


_falling_functions(0)
_falling_functions(1)


# -- Airy ----------------------------------------------------------------------------------------

_AIRY_LARGE = 15.0


def _airy_terms(count: int) -> Sequence[float]:
    """Coefficients of `1 / zeta ** k` in the series 10.4.59 and 10.4.60."""
    terms = [1.0]
    for k in range(1, count):
        ratio = (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1))
        terms.append(terms[-1] * ratio)
    return terms


@aten("aten::special_airy_ai", rule=EXACT_X, tests=[OpTest("special.airy_ai")])
def airy_ai(op: Op, x: Value) -> Value:
    """The Airy function Ai.

    The path of the integral of `exp(i (t^3 / 3 + x t))` is moved up, to the saddle where x is
    positive; what is left falls like a Gaussian.
    """
    middle = op.Clip(x, -_AIRY_LARGE, 200.0)
    height = op.Sqrt(op.Max(middle, 0.25))
    s = midpoints(170, 8.5)
    cube = points(op, s**3 / 3)
    phase = op.Add(op.Mul(row(op, op.Sub(middle, op.Mul(height, height))), points(op, s)), cube)
    decay = op.Exp(op.Mul(row(op, height), points(op, -s * s)))
    integral = weighted(op, op.Mul(decay, op.Cos(phase)), np.full(170, 0.05 / math.pi))
    lift = op.Mul(height, op.Sub(op.Mul(op.Mul(height, height), 1.0 / 3), middle))
    near = op.Mul(op.Exp(lift), integral)
    y = op.Max(op.Neg(x), _AIRY_LARGE)
    root = op.Sqrt(y)
    zeta = op.Mul(op.Mul(y, root), 2.0 / 3)
    terms = _airy_terms(16)
    inverse = op.Reciprocal(zeta)
    even = weighted(
        op,
        powers(op, inverse, range(0, 16, 2)),
        [t * (-1.0) ** k for k, t in enumerate(terms[::2])],
    )
    odd = weighted(
        op,
        powers(op, inverse, range(1, 16, 2)),
        [t * (-1.0) ** k for k, t in enumerate(terms[1::2])],
    )
    turned = op.Add(zeta, math.pi / 4)
    wave = op.Sub(op.Mul(even, op.Sin(turned)), op.Mul(odd, op.Cos(turned)))
    far = op.Div(wave, op.Mul(op.Sqrt(root), math.sqrt(math.pi)))
    return op.Where(op.Less(x, -_AIRY_LARGE), far, near)
