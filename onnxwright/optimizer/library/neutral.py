"""Operands that change nothing: `x * 1`, `x / 1`, `x ** 1`, `x - 0`, `x + -0`, for the same bits.

The replay settles constants that are known not to be trained.  Here are numbers that initializers
hold, as converters write constants.  `x + 0` stays: it makes 0 of -0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import tensor_of
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule


def _is_neutral(array: Any, element: float) -> bool:
    """Whether an array is all of one number, its sign included."""
    if not array.size or array.flat[0] != element:  # which settles it for nearly all weights
        return False
    return bool((array == element).all() and (np.signbit(array) == np.signbit(element)).all())


def _values(rng: Any) -> Draw:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0], np.float32)
    return {"x": rng.choice(special, size=sizes(rng, 0, 3))}


def _of_number(name: str, neutral: float) -> Rule:
    """The rule for one number as an operand."""

    def pattern(op: Op, x: Value) -> Any:
        return getattr(op, name)(x, op.number(neutral, rtol=0.0))

    pattern.__doc__ = f"{name} with {neutral:.0f}: the other operand."
    new_rule = rule(
        name=f"{name.lower()}_with_{'one' if neutral else 'zero'}",
        since=7, always=True, cases=_values,
    )(pattern)  # fmt: skip

    @new_rule.to
    def _(op: Op, x: Value, match: Any) -> Any:
        del op
        for tensor in map(tensor_of, match.roots[0].inputs):
            # A number of some axes adds them to a value of none; types that are known disagree.
            if tensor is not None and (x.rank is not None or not len(tensor.shape)):
                if all(d == 1 for d in tensor.shape) and _is_neutral(tensor.numpy(), neutral):
                    return x
        return None

    return new_rule


NUMBERS = [_of_number(name, 1.0) for name in ("Mul", "Div", "Pow")]
ZEROS = [_of_number("Sub", 0.0), _of_number("Add", -0.0)]


def _weights(element: float) -> Any:
    def draw(rng: Any) -> Draw:
        x = floats(rng, sizes(rng, 1, 3))
        shape = [int(d) if rng.integers(2) else 1 for d in x.shape[int(rng.integers(x.ndim)) :]]
        return {"x": x, "c": np.full(shape, element, np.float32)}

    return draw


def _of_weight(name: str, neutral: float) -> Rule:
    """The rule for a weight that holds one number everywhere."""

    def pattern(op: Op, x: Value, c: Const) -> Any:
        return getattr(op, name)(x, c)

    pattern.__doc__ = (
        f"{name} with a weight of {'ones' if neutral else 'zeros'} that nobody trains."
    )
    new_rule = rule(
        name=f"{name.lower()}_with_{'ones' if neutral else 'zeros'}", since=7, assume=["frozen"],
        always=True, cases=_weights(neutral),
    )(pattern)  # fmt: skip

    @new_rule.to
    def _(op: Op, x: Value, c: Value) -> Any:
        del op
        if x.shape is None or c.shape is None or len(c.shape) > len(x.shape):
            return None
        if any(d not in (1, of_x) for d, of_x in zip(c.shape[::-1], x.shape[::-1])):
            return None
        held: Any = getattr(c, "constant", None)
        return x if held is not None and _is_neutral(held, neutral) else None

    return new_rule


WEIGHTS = [_of_weight(name, 1.0) for name in ("Mul", "Div")]
ZERO_WEIGHTS = [_of_weight("Sub", 0.0), _of_weight("Add", -0.0)]
