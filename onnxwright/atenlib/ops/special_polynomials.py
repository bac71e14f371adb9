"""Orthogonal polynomials of a degree that is a tensor, by their recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.quadrature import points
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

RULE = elementwise(("x", "n"), promote="int_to_float", at_least=DType.DOUBLE)
# torch adds in float32, where these lose digits.
_ROUNDED = {"float32": Tol(1e-5, 1e-3)}
# (op, x, k as a value, the polynomial of degree k, of degree k - 1) -> that of degree k + 1
Step = Callable[[Any, Any, Any, Any, Any], Any]


def _polynomial(op: Op, x: Value, n: Value | Number, first: Value, step: Step) -> Any:
    """The polynomial of degree n (cut to an integer) at x; zero for a negative degree.

    Args:
        op: the operators.
        x, n: DOUBLE values or numbers.
        first: the polynomial of degree one at x.
        step: its recurrence.

    Returns:
        A DOUBLE value.
    """
    n = op.Cast(n, to=DType.INT64) if is_value(n) else op.constant(np.array(int(n)))
    zero = op.Mul(op.Add(x, op.Cast(n, to=DType.DOUBLE)), 0.0)
    one = op.Add(zero, 1.0)
    least = op.Concat(op.Reshape(n, [-1]), op.constant(np.array([0])), axis=0)
    most = op.ReduceMax(least, keepdims=0)
    start = op.Where(op.Equal(n, 0), one, op.Where(op.Equal(n, 1), op.Add(first, zero), zero))

    def iteration(i: Any, go: Any, before: Any, now: Any, found: Any) -> tuple[Any, ...]:
        k = op.Add(i, 1)
        following = step(op, x, op.Cast(k, to=DType.DOUBLE), now, before)
        found = op.Where(op.Equal(n, op.Add(k, 1)), following, found)
        return go, now, following, found

    trips = op.Sub(most, 1)
    results = op.Loop(trips, None, one, op.Add(first, zero), start, body=iteration)
    return results[2]


def _chebyshev(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    return op.Sub(op.Mul(op.Mul(x, 2.0), now), before)


def _value(op: Op, x: Value | Number) -> Value:
    return x if is_value(x) else points(op, float(x))


def _shifted(op: Op, x: Value | Number) -> Value:
    """`2 x - 1`: from [0, 1] to [-1, 1]."""
    return op.Sub(op.Mul(_value(op, x), 2.0), 1.0)


def _t(op: Op, x: Value, n: Value | Number) -> Any:
    return _polynomial(op, x, n, x, _chebyshev)


def _u(op: Op, x: Value, n: Value | Number) -> Any:
    return _polynomial(op, x, n, op.Mul(x, 2.0), _chebyshev)


def _v(op: Op, x: Value, n: Value | Number) -> Any:
    return _polynomial(op, x, n, op.Sub(op.Mul(x, 2.0), 1.0), _chebyshev)


def _w(op: Op, x: Value, n: Value | Number) -> Any:
    return _polynomial(op, x, n, op.Add(op.Mul(x, 2.0), 1.0), _chebyshev)


@aten(
    "aten::special_chebyshev_polynomial_t",
    "aten::special_chebyshev_polynomial_t.x_scalar",
    "aten::special_chebyshev_polynomial_t.n_scalar",
    rule=RULE,
    tests=[OpTest("special.chebyshev_polynomial_t")],
)
def chebyshev_polynomial_t(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The Chebyshev polynomial of the first kind."""
    return _t(op, _value(op, x), n)


@aten(
    "aten::special_chebyshev_polynomial_u",
    "aten::special_chebyshev_polynomial_u.x_scalar",
    "aten::special_chebyshev_polynomial_u.n_scalar",
    rule=RULE,
    tests=[OpTest("special.chebyshev_polynomial_u")],
)
def chebyshev_polynomial_u(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The Chebyshev polynomial of the second kind."""
    return _u(op, _value(op, x), n)


@aten(
    "aten::special_chebyshev_polynomial_v",
    "aten::special_chebyshev_polynomial_v.x_scalar",
    "aten::special_chebyshev_polynomial_v.n_scalar",
    rule=RULE,
    tests=[OpTest("special.chebyshev_polynomial_v")],
)
def chebyshev_polynomial_v(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The Chebyshev polynomial of the third kind."""
    return _v(op, _value(op, x), n)


@aten(
    "aten::special_chebyshev_polynomial_w",
    "aten::special_chebyshev_polynomial_w.x_scalar",
    "aten::special_chebyshev_polynomial_w.n_scalar",
    rule=RULE,
    tests=[OpTest("special.chebyshev_polynomial_w")],
)
def chebyshev_polynomial_w(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The Chebyshev polynomial of the fourth kind."""
    return _w(op, _value(op, x), n)


@aten(
    "aten::special_shifted_chebyshev_polynomial_t",
    "aten::special_shifted_chebyshev_polynomial_t.x_scalar",
    "aten::special_shifted_chebyshev_polynomial_t.n_scalar",
    rule=RULE,
    tests=[OpTest("special.shifted_chebyshev_polynomial_t")],
)
def shifted_chebyshev_polynomial_t(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The shifted Chebyshev polynomial of the first kind."""
    return _t(op, _shifted(op, x), n)


@aten(
    "aten::special_shifted_chebyshev_polynomial_u",
    "aten::special_shifted_chebyshev_polynomial_u.x_scalar",
    "aten::special_shifted_chebyshev_polynomial_u.n_scalar",
    rule=RULE,
    tests=[OpTest("special.shifted_chebyshev_polynomial_u")],
)
def shifted_chebyshev_polynomial_u(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The shifted Chebyshev polynomial of the second kind."""
    return _u(op, _shifted(op, x), n)


@aten(
    "aten::special_shifted_chebyshev_polynomial_v",
    "aten::special_shifted_chebyshev_polynomial_v.x_scalar",
    "aten::special_shifted_chebyshev_polynomial_v.n_scalar",
    rule=RULE,
    tests=[OpTest("special.shifted_chebyshev_polynomial_v")],
)
def shifted_chebyshev_polynomial_v(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The shifted Chebyshev polynomial of the third kind."""
    return _v(op, _shifted(op, x), n)


@aten(
    "aten::special_shifted_chebyshev_polynomial_w",
    "aten::special_shifted_chebyshev_polynomial_w.x_scalar",
    "aten::special_shifted_chebyshev_polynomial_w.n_scalar",
    rule=RULE,
    tests=[OpTest("special.shifted_chebyshev_polynomial_w")],
)
def shifted_chebyshev_polynomial_w(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The shifted Chebyshev polynomial of the fourth kind."""
    return _w(op, _shifted(op, x), n)


def _hermite(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    return op.Mul(op.Sub(op.Mul(x, now), op.Mul(k, before)), 2.0)


@aten(
    "aten::special_hermite_polynomial_h",
    "aten::special_hermite_polynomial_h.x_scalar",
    "aten::special_hermite_polynomial_h.n_scalar",
    rule=RULE,
    tests=[OpTest("special.hermite_polynomial_h", tol=_ROUNDED)],
)
def hermite_polynomial_h(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The physicists' Hermite polynomial."""
    x = _value(op, x)
    return _polynomial(op, x, n, op.Mul(x, 2.0), _hermite)


def _hermite_he(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    return op.Sub(op.Mul(x, now), op.Mul(k, before))


@aten(
    "aten::special_hermite_polynomial_he",
    "aten::special_hermite_polynomial_he.x_scalar",
    "aten::special_hermite_polynomial_he.n_scalar",
    rule=RULE,
    tests=[OpTest("special.hermite_polynomial_he", tol=_ROUNDED)],
)
def hermite_polynomial_he(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The probabilists' Hermite polynomial."""
    x = _value(op, x)
    return _polynomial(op, x, n, x, _hermite_he)


def _laguerre(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    grown = op.Mul(op.Sub(op.Add(op.Mul(k, 2.0), 1.0), x), now)
    return op.Div(op.Sub(grown, op.Mul(k, before)), op.Add(k, 1.0))


@aten(
    "aten::special_laguerre_polynomial_l",
    "aten::special_laguerre_polynomial_l.x_scalar",
    "aten::special_laguerre_polynomial_l.n_scalar",
    rule=RULE,
    tests=[OpTest("special.laguerre_polynomial_l")],
)
def laguerre_polynomial_l(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The Laguerre polynomial."""
    x = _value(op, x)
    return _polynomial(op, x, n, op.Sub(1.0, x), _laguerre)


def _legendre(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    grown = op.Mul(op.Mul(op.Add(op.Mul(k, 2.0), 1.0), x), now)
    return op.Div(op.Sub(grown, op.Mul(k, before)), op.Add(k, 1.0))


@aten(
    "aten::special_legendre_polynomial_p",
    "aten::special_legendre_polynomial_p.x_scalar",
    "aten::special_legendre_polynomial_p.n_scalar",
    rule=RULE,
    tests=[OpTest("special.legendre_polynomial_p")],
)
def legendre_polynomial_p(op: Op, x: Value | Number, n: Value | Number) -> Any:
    """The Legendre polynomial."""
    x = _value(op, x)
    return _polynomial(op, x, n, x, _legendre)
