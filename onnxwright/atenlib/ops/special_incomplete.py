"""The incomplete gamma functions, by a series and a continued fraction until they converge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.quadrature import points
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.special_gamma import lgamma
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

EXACT = elementwise(("self", "other"), promote="int_to_float", at_least=DType.DOUBLE)
_TURNS = 10000
_ENOUGH = 1e-16


def _any(op: Op, condition: Value) -> Value:
    """Whether a condition holds anywhere, as a BOOL value of rank 0."""
    return op.Greater(op.ReduceSum(op.Cast(condition, to=DType.INT64), keepdims=0), 0)


def _series(op: Op, a: Value, x: Value) -> Any:
    """`1/a + x/(a(a+1)) + x^2/(a(a+1)(a+2)) + ...`, for x up to about a."""
    first = op.Reciprocal(a)

    def iteration(i: Any, go: Any, term: Any, total: Size) -> tuple[Any, ...]:
        n = op.Add(op.Cast(i, to=DType.DOUBLE), 1.0)
        term = op.Mul(term, op.Div(x, op.Add(a, n)))
        total = op.Add(total, term)
        return _any(op, op.Greater(term, op.Mul(total, _ENOUGH))), term, total

    trips, go = op.constant(np.array(_TURNS)), op.constant(np.array(True))
    _, total = op.Loop(trips, go, first, first, body=iteration)
    return total


def _fraction(op: Op, a: Value, x: Value) -> Any:
    """The continued fraction of the upper function, for x from about a on (Lentz's method).

    Source: W. H. Press et al., "Numerical Recipes", 6.2; A&S 6.5.31.
    """
    tiny = 1e-300
    b = op.Add(op.Sub(x, a), 1.0)
    d = op.Reciprocal(b)
    c = op.Add(op.Mul(b, 0.0), 1.0 / tiny)

    def iteration(i: Any, go: Any, b: Value, c: Value, d: Any, h: Value) -> tuple[Any, ...]:
        n = op.Add(op.Cast(i, to=DType.DOUBLE), 1.0)
        factor = op.Mul(n, op.Sub(a, n))
        b = op.Add(b, 2.0)
        d = op.Reciprocal(_not_zero(op, op.Add(op.Mul(factor, d), b), tiny))
        c = _not_zero(op, op.Add(b, op.Div(factor, c)), tiny)
        change = op.Mul(c, d)
        moving = op.Greater(op.Abs(op.Sub(change, 1.0)), 10.0 * _ENOUGH)
        return _any(op, moving), b, c, d, op.Mul(h, change)

    trips, go = op.constant(np.array(_TURNS)), op.constant(np.array(True))
    return op.Loop(trips, go, b, c, d, d, body=iteration)[3]


def _not_zero(op: Op, x: Value, tiny: float) -> Value:
    return op.Where(op.Less(op.Abs(x), tiny), points(op, tiny), x)


def _incomplete(op: Op, a: Value, x: Value, upper: bool) -> Value:
    """The regularized function, lower or upper."""
    usual = op.And(_inside(op, a), _inside(op, x))
    one = points(op, 1.0)
    safe_a, safe_x = op.Where(usual, a, one), op.Where(usual, x, one)
    border = op.Add(safe_a, 1.0)
    below = op.LessOrEqual(safe_x, border)
    scale = op.Sub(op.Sub(op.Mul(safe_a, op.Log(safe_x)), safe_x), lgamma.body(op, safe_a))
    scale = op.Exp(scale)
    low = op.Mul(scale, _series(op, safe_a, op.Min(safe_x, border)))
    high = op.Mul(scale, _fraction(op, safe_a, op.Max(safe_x, border)))
    if upper:
        value = op.Where(below, op.Sub(1.0, low), high)
    else:
        value = op.Where(below, low, op.Sub(1.0, high))
    return op.Where(usual, value, _at_the_ends(op, a, x, upper))


def _inside(op: Op, x: Value) -> Value:
    return op.And(op.Greater(x, 0.0), op.Less(x, math.inf))


def _at_the_ends(op: Op, a: Value, x: Value, upper: bool) -> Value:
    """Where an argument is zero or infinite: all or nothing lies below; else NaN."""
    all_below = op.Or(
        op.And(op.Equal(a, 0.0), op.Greater(x, 0.0)),
        op.And(op.Equal(x, math.inf), op.And(op.GreaterOrEqual(a, 0.0), op.Less(a, math.inf))),
    )
    none_below = op.Or(
        op.And(op.Equal(x, 0.0), op.Greater(a, 0.0)),
        op.And(op.Equal(a, math.inf), op.And(op.GreaterOrEqual(x, 0.0), op.Less(x, math.inf))),
    )
    whole, nothing = (points(op, float(v)) for v in ((0, 1) if upper else (1, 0)))
    return op.Where(all_below, whole, op.Where(none_below, nothing, points(op, math.nan)))


@aten("aten::igamma", "aten::special_gammainc", "prims::igamma", rule=EXACT)
def igamma(op: Op, self: Value, other: Value) -> Value:
    """The regularized lower incomplete gamma function of `self` at `other`."""
    return _incomplete(op, self, other, False)


@aten("aten::igammac", "aten::special_gammaincc", "prims::igammac", rule=EXACT)
def igammac(op: Op, self: Value, other: Value) -> Value:
    """The regularized upper incomplete gamma function of `self` at `other`."""
    return _incomplete(op, self, other, True)
