"""Orthogonal polynomials of a degree that is a tensor, by their recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.quadrature import points
from onnxwright.atenlib.op import AtenFunction, aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import elementwise
from onnxwright.types.dtypes import DType

RULE = elementwise(("x", "n"), promote="int_to_float", at_least=DType.DOUBLE)
# torch adds in float32, where these lose digits.
_ROUNDED = {"float32": Tol(1e-5, 1e-3)}
# (op, x) -> the polynomial of degree one at x
First = Callable[[Any, Any], Any]
# (op, x, k as a value, the polynomial of degree k, of degree k - 1) -> that of degree k + 1
Step = Callable[[Any, Any, Any, Any, Any], Any]


def _polynomial(op: Op, x: Value, n: Value | Number, first: Value, step: Step) -> Any:
    """The polynomial of degree n (cut to an integer) at x; zero for a negative degree.

    Args:
        x, n: DOUBLE values or numbers.
    """
    n = op.Cast(n, to=DType.INT64) if is_value(n) else op.constant(np.array(int(n)))
    zero = op.Mul(op.Add(x, op.Cast(n, to=DType.DOUBLE)), 0.0)
    one = op.Add(zero, 1.0)
    least = op.Concat(op.Reshape(n, [-1]), op.constant(np.array([0])), axis=0)
    most = op.ReduceMax(least, keepdims=0)
    start = op.Where(op.Equal(n, 0), one, op.Where(op.Equal(n, 1), op.Add(first, zero), zero))

    def iteration(i: Any, go: Any, before: Any, now: Any, value: Any) -> tuple[Any, ...]:
        k = op.Add(i, 1)
        following = step(op, x, op.Cast(k, to=DType.DOUBLE), now, before)
        value = op.Where(op.Equal(n, op.Add(k, 1)), following, value)
        return go, now, following, value

    trips = op.Sub(most, 1)
    results = op.Loop(trips, None, one, op.Add(first, zero), start, body=iteration)
    return results[2]


def _chebyshev(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    return op.Sub(op.Mul(op.Mul(x, 2.0), now), before)


def _value(op: Op, x: Value | Number) -> Value:
    return x if is_value(x) else points(op, float(x))


def _hermite(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    return op.Mul(op.Sub(op.Mul(x, now), op.Mul(k, before)), 2.0)


def _hermite_he(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    return op.Sub(op.Mul(x, now), op.Mul(k, before))


def _laguerre(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    grown = op.Mul(op.Sub(op.Add(op.Mul(k, 2.0), 1.0), x), now)
    return op.Div(op.Sub(grown, op.Mul(k, before)), op.Add(k, 1.0))


def _legendre(op: Op, x: Value, k: Value, now: Any, before: Any) -> Value:
    grown = op.Mul(op.Mul(op.Add(op.Mul(k, 2.0), 1.0), x), now)
    return op.Div(op.Sub(grown, op.Mul(k, before)), op.Add(k, 1.0))


def _same(op: Op, x: Value) -> Value:
    return x


def _twice(op: Op, x: Value) -> Value:
    return op.Mul(x, 2.0)


def _twice_less_one(op: Op, x: Value) -> Value:
    return op.Sub(op.Mul(x, 2.0), 1.0)


def _twice_and_one(op: Op, x: Value) -> Value:
    return op.Add(op.Mul(x, 2.0), 1.0)


def _one_less(op: Op, x: Value) -> Value:
    return op.Sub(1.0, x)


def _family(
    name: str, doc: str, first: First, step: Step, *, shifted: bool = False, rounded: bool = False
) -> AtenFunction:
    """Register a family of polynomials.

    Args:
        name: what `torch.special` calls it.
        shifted: whether it is taken at `2 x - 1`, from [0, 1] to [-1, 1].
        rounded: whether torch's own results lose digits.
    """

    def body(op: Op, x: Value | Number, n: Value | Number) -> Any:
        x = _value(op, x)
        if shifted:
            x = _twice_less_one(op, x)
        return _polynomial(op, x, n, first(op, x), step)

    names = [f"aten::special_{name}{overload}" for overload in ("", ".x_scalar", ".n_scalar")]
    test = OpTest(f"special.{name}", tol=_ROUNDED if rounded else {})
    return aten(*names, rule=RULE, tests=[test], doc=doc)(body)


# The four kinds of Chebyshev polynomials differ in that of degree one.
_KINDS = (
    ("t", "first", _same),
    ("u", "second", _twice),
    ("v", "third", _twice_less_one),
    ("w", "fourth", _twice_and_one),
)
for _letter, _number, _first in _KINDS:
    _name = f"chebyshev_polynomial_{_letter}"
    _doc = f"Chebyshev polynomial of the {_number} kind."
    _family(_name, f"The {_doc}", _first, _chebyshev)
    _family(f"shifted_{_name}", f"The shifted {_doc}", _first, _chebyshev, shifted=True)

hermite_polynomial_h = _family(
    "hermite_polynomial_h", "The physicists' Hermite polynomial.", _twice, _hermite, rounded=True
)
hermite_polynomial_he = _family(
    "hermite_polynomial_he", "The probabilists' Hermite polynomial.", _same, _hermite_he,
    rounded=True,
)  # fmt: skip
laguerre_polynomial_l = _family(
    "laguerre_polynomial_l", "The Laguerre polynomial.", _one_less, _laguerre
)
legendre_polynomial_p = _family(
    "legendre_polynomial_p", "The Legendre polynomial.", _same, _legendre
)
