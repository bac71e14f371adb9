"""Masks, comparisons and signs that are written in two steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import runs
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule


def _masked(rng: Any) -> Draw:
    shape = sizes(rng, 1, 3)
    return {"c": rng.integers(2, size=shape).astype(bool), "x": floats(rng, shape),
            "y": floats(rng, shape)}  # fmt: skip


@rule(since=9, cases=_masked)
def where_not(op: Op, c: Value, x: Value, y: Value) -> Any:
    """Where of a mask that is negated: its values change places."""
    return op.Where(op.Not(c), x, y)


@where_not.to
def _(op: Op, c: Value, x: Value, y: Value) -> Any:
    return op.Where(c, y, x)


def _compared(rng: Any) -> Draw:
    shape = sizes(rng, 1, 3)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    return {"x": rng.choice(special, size=shape), "y": rng.choice(special, size=shape)}


def _or_equal(name: str) -> Rule:
    """The rule for a comparison or equality."""

    def pattern(op: Op, x: Value, y: Value) -> Any:
        return op.Or(getattr(op, name)(x, y), op.Equal(x, y))

    pattern.__doc__ = f"{name} or equal: one comparison."
    new_rule = rule(name=f"{name.lower()}_or_equal", since=12, cases=_compared)(pattern)

    @new_rule.to
    def _(op: Op, x: Value, y: Value) -> Any:
        return getattr(op, f"{name}OrEqual")(x, y) if runs(op, f"{name}OrEqual", x.dtype) else None

    return new_rule


COMPARISONS = [_or_equal(name) for name in ("Greater", "Less")]


@rule(since=7)
def sum_with_negative(op: Op, x: Value, y: Value) -> Any:
    """A sum with a negative is a difference."""
    return op.Add(x, op.Neg(y))


@sum_with_negative.to
def _(op: Op, x: Value, y: Value) -> Any:
    return op.Sub(x, y)


@rule(since=7)
def difference_of_negative(op: Op, x: Value, y: Value) -> Any:
    """A difference from a negative is a sum."""
    return op.Sub(x, op.Neg(y))


@difference_of_negative.to
def _(op: Op, x: Value, y: Value) -> Any:
    return op.Add(x, y)


def _roots(rng: Any) -> Draw:
    x = floats(rng, sizes(rng, 1, 3))
    return {"x": x, "y": np.abs(x) + np.float32(0.1)}


@rule(since=7, level="rounding", cases=_roots)
def product_with_inverse_root(op: Op, x: Value, y: Value) -> Any:
    """A product with the reciprocal of a root is a quotient.

    Of other numbers, the reciprocal may be infinite where the quotient is not.
    """
    return op.Mul(x, op.Reciprocal(op.Sqrt(y)))


@product_with_inverse_root.also
def _(op: Op, x: Value, y: Value) -> Any:
    return op.Mul(x, 1.0 / op.Sqrt(y))


@product_with_inverse_root.to
def _(op: Op, x: Value, y: Value) -> Any:
    return op.Div(x, op.Sqrt(y))


def _signed(rng: Any) -> Draw:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5], np.float32)
    return {"x": rng.choice(special, size=sizes(rng, 1, 3))}


@rule(since=6, cases=_signed)
def abs_of_neg(op: Op, x: Value) -> Any:
    """The absolute value of a negated value is that of the value itself."""
    return op.Abs(op.Neg(x))


@abs_of_neg.to
def _(op: Op, x: Value) -> Any:
    return op.Abs(x)


def _twice(name: str, since: int) -> Rule:
    """The rule for a function that leaves its own results as they are."""

    def pattern(op: Op, x: Value) -> Any:
        return getattr(op, name)(getattr(op, name)(x))

    pattern.__doc__ = f"{name} of {name}: once is enough."
    new_rule = rule(name=f"{name.lower()}_twice", since=since, cases=_signed)(pattern)

    @new_rule.to
    def _(op: Op, x: Value) -> Any:
        return getattr(op, name)(x)

    return new_rule


TWICE = [_twice(*n) for n in (("Abs", 6), ("Ceil", 6), ("Floor", 6), ("Round", 11), ("Sign", 9))]
