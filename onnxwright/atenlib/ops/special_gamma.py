"""The gamma function's logarithm and its derivatives, and the zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.quadrature import points, powers, row, weighted
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol, XFail
from onnxwright.atenlib.protocols import Number, Op, Value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

EXACT = elementwise(promote="int_to_float", at_least=DType.DOUBLE)
# Bernoulli numbers B2, B4, ...
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330,
)  # fmt: skip
_SHIFT = 10  # the asymptotic series are good to the last digit from here on


def _shifted(op: Op, x: Value) -> tuple[Any, Any, Any]:
    """Whether x is small, x moved up where it is, and the row `x, x + 1, ... x + 9`."""
    small = op.Less(x, float(_SHIFT))
    moved = op.Where(small, op.Add(x, float(_SHIFT)), x)
    return small, moved, op.Add(row(op, x), points(op, np.arange(_SHIFT)))


def _fraction(op: Op, x: Value) -> Value:
    """The distance to the nearest integer, for functions of `pi x`."""
    return op.Sub(x, op.Round(x))


@aten("aten::lgamma", "aten::special_gammaln", "prims::lgamma", rule=EXACT)
def lgamma(op: Op, self: Value) -> Value:
    """The logarithm of the gamma function's absolute value (Stirling's series, reflection)."""
    left = op.Less(self, 0.5)
    x = op.Where(left, op.Sub(1.0, self), self)
    small, moved, ladder = _shifted(op, x)
    odd = [2 * k + 1 for k in range(len(_BERNOULLI))]
    terms = [b / (n * (n + 1)) for b, n in zip(_BERNOULLI, odd, strict=True)]
    series = weighted(op, powers(op, op.Reciprocal(moved), odd), terms)
    stirling = op.Mul(op.Sub(moved, 0.5), op.Log(moved))
    right = op.Add(op.Sub(stirling, moved), op.Add(series, 0.5 * math.log(2 * math.pi)))
    steps = weighted(op, op.Log(ladder), np.ones(_SHIFT))
    right = op.Sub(right, op.Where(small, steps, points(op, 0.0)))
    sine = op.Abs(op.Sin(op.Mul(_fraction(op, self), math.pi)))
    mirrored = op.Sub(op.Sub(math.log(math.pi), op.Log(sine)), right)
    value = op.Where(left, mirrored, right)
    return op.Where(op.IsInf(self), points(op, math.inf), value)


@aten(
    "aten::mvlgamma",
    "aten::special_multigammaln",
    rule=EXACT,
    tests=[
        OpTest("mvlgamma:mvlgamma_p_1"),
        OpTest("mvlgamma:mvlgamma_p_3"),
        OpTest("mvlgamma:mvlgamma_p_5"),
    ],
)
def mvlgamma(op: Op, self: Value, p: int) -> Value:
    """The logarithm of the multivariate gamma function."""
    every = lgamma.body(op, op.Sub(row(op, self), points(op, np.arange(p) / 2)))
    constant = p * (p - 1) / 4 * math.log(math.pi)
    return op.Add(weighted(op, every, np.ones(p)), constant)


@aten("aten::digamma", "aten::special_digamma", "aten::special_psi", "prims::digamma", rule=EXACT)
def digamma(op: Op, self: Value) -> Value:
    """The derivative of lgamma; infinite at zero, NaN at negative integers."""
    left = op.LessOrEqual(self, 0.0)
    x = op.Where(left, op.Sub(1.0, self), self)
    small, moved, ladder = _shifted(op, x)
    even = [2 * (k + 1) for k in range(len(_BERNOULLI))]
    terms = [b / n for b, n in zip(_BERNOULLI, even, strict=True)]
    inverse = op.Reciprocal(moved)
    series = op.Add(op.Mul(inverse, 0.5), weighted(op, powers(op, inverse, even), terms))
    steps = weighted(op, op.Reciprocal(ladder), np.ones(_SHIFT))
    right = op.Sub(op.Sub(op.Log(moved), series), op.Where(small, steps, points(op, 0.0)))
    turn = op.Mul(_fraction(op, self), math.pi)
    mirrored = op.Sub(right, op.Div(op.Mul(op.Cos(turn), math.pi), op.Sin(turn)))
    whole = op.And(left, op.Equal(self, op.Round(self)))
    value = op.Where(whole, points(op, math.nan), op.Where(left, mirrored, right))
    # 1 / -x is -inf at 0 and inf at -0.
    return op.Where(op.Equal(self, 0.0), op.Neg(op.Reciprocal(self)), value)


@aten(
    "aten::special_zeta",
    "aten::special_zeta.other_scalar",
    "aten::special_zeta.self_scalar",
    "prims::zeta",
    rule=elementwise(("self", "other"), promote="int_to_float", at_least=DType.DOUBLE),
    tests=[OpTest("special.zeta")],
)
def zeta(op: Op, self: Value | Number, other: Value | Number) -> Value:
    """The Hurwitz zeta function, the sum of `(other + k) ** -self`."""
    self, other = (v if hasattr(v, "rank") else points(op, v) for v in (self, other))
    value = _zeta(op, self, other)
    pole = op.And(op.LessOrEqual(other, 0.0), op.Equal(other, op.Floor(other)))
    rootless = op.And(op.LessOrEqual(other, 0.0), op.Not(op.Equal(self, op.Floor(self))))
    value = op.Where(rootless, points(op, math.nan), value)
    value = op.Where(pole, points(op, math.inf), value)
    value = op.Where(op.Less(self, 1.0), points(op, math.nan), value)
    return op.Where(op.Equal(self, 1.0), points(op, math.inf), value)


def _zeta(op: Op, s: Any, q: Any) -> Value:
    """Terms until `q + n` is above ten, then Euler and Maclaurin's formula.

    The number of terms is that of the least q; q below -10000 is left to a sum of 10000 terms.
    """
    least = op.ReduceMin(op.Concat(op.Reshape(q, [-1]), points(op, [0.0]), axis=0), keepdims=0)
    count = op.Ceil(op.Clip(op.Sub(float(_SHIFT), least), float(_SHIFT), 10000.0))
    steps = op.Range(points(op, 0.0), count, points(op, 1.0))
    exponent = op.Neg(s)
    terms = op.Pow(op.Add(row(op, q), steps), row(op, exponent))
    ones = op.Expand(points(op, 1.0), op.Shape(row(op, steps)))
    total = op.Squeeze(op.MatMul(terms, ones), [-1])
    end = op.Add(q, count)
    last = op.Pow(end, exponent)
    integral = op.Div(op.Mul(last, end), op.Sub(s, 1.0))
    # B(2j) / (2j)! * s (s + 1) ... (s + 2j - 2) * end ** (-s - 2j + 1)
    orders = 2 * np.arange(len(_BERNOULLI)) + 1
    used = np.arange(orders[-1])[:, None] < orders
    factors = op.Add(row(op, op.Min(s, 1000.0)), points(op, np.arange(orders[-1])))
    rising = op.Exp(op.MatMul(op.Log(factors), points(op, used)))
    weights = [b / math.factorial(n + 1) for b, n in zip(_BERNOULLI, orders.tolist(), strict=True)]
    series = weighted(op, op.Mul(rising, op.Pow(row(op, end), points(op, -orders))), weights)
    tail = op.Add(integral, op.Mul(last, op.Add(series, 0.5)))
    return op.Add(total, tail)


# torch's first derivative is good to 2e-5 in float32, and finite where it has a pole.
_TRIGAMMA = {"float32": Tol(1e-4, 1e-4)}
_POLE = XFail(
    "torch gives a large number where the function is infinite",
    dtypes=("int8", "int16", "int32", "int64"),
    matcher=lambda s: s.args[0] == 1 and bool((s.input <= 0).any()),
)
_POLYGAMMA = [
    OpTest(name, tol=_TRIGAMMA, xfail=[_POLE])
    for name in (
        "polygamma:polygamma_n_0",
        "polygamma:polygamma_n_1",
        "polygamma:polygamma_n_2",
        "polygamma:polygamma_n_3",
        "polygamma:polygamma_n_4",
        "special.polygamma:special_polygamma_n_0",
    )
]


@aten(
    "aten::polygamma",
    "aten::special_polygamma",
    rule=EXACT,
    tests=_POLYGAMMA,
)
def polygamma(op: Op, n: int, self: Value) -> Any:
    """The n-th derivative of digamma."""
    if n == 0:
        return digamma.body(op, self)
    order = points(op, float(n + 1))
    if n == 1:
        left = op.Less(self, 0.5)
        right = _zeta(op, order, op.Where(left, op.Sub(1.0, self), self))
        slope = op.Div(math.pi, op.Sin(op.Mul(_fraction(op, self), math.pi)))
        return op.Where(left, op.Sub(op.Mul(slope, slope), right), right)
    value = zeta.body(op, order, self)
    return op.Mul(value, (-1.0) ** (n + 1) * math.factorial(n))
