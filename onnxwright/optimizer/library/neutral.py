"""Operands that change nothing: `x * 1`, `x / 1`, `x ** 1`, `x + 0`, `x - 0`.

The replay settles constants that are known not to be trained, for the same bits.  Here are numbers
that initializers hold, as converters write constants, and zeros whose sign does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import tensor_of
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule

_NEUTRAL = {"Mul": 1.0, "Div": 1.0, "Pow": 1.0, "Add": 0.0, "Sub": 0.0}


def _values(rng: Any) -> Draw:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0], np.float32)
    return {"x": rng.choice(special, size=sizes(rng, 0, 3))}


def _of_number(name: str, wanted: float) -> Rule:
    """The rule for one number as an operand."""

    def pattern(op: Op, x: Value) -> Any:
        return getattr(op, name)(x, op.number(wanted, rtol=0.0))

    pattern.__doc__ = f"{name} with {wanted:.0f}: the other operand."
    # x + 0 is 0 where x is -0.
    level = "exact" if wanted else "rounding"
    made = rule(
        name=f"{name.lower()}_with_{'one' if wanted else 'zero'}",
        since=7, level=level, always=True, cases=_values,
    )(pattern)  # fmt: skip

    @made.to
    def _(op: Op, x: Value, match: Any) -> Any:
        del op
        if x.rank is None:  # a number of some axes would add them
            held = [tensor_of(v) for v in match.roots[0].inputs]
            return x if any(t is not None and not len(t.shape) for t in held) else None
        return x  # types that have more axes do not agree: it is not used there

    return made


NUMBERS = [_of_number(name, wanted) for name, wanted in _NEUTRAL.items()]


def _weights(wanted: float) -> Any:
    def draw(rng: Any) -> Draw:
        x = floats(rng, sizes(rng, 1, 3))
        shape = [int(d) if rng.integers(2) else 1 for d in x.shape[int(rng.integers(x.ndim)) :]]
        return {"x": x, "c": np.full(shape, wanted, np.float32)}

    return draw


def _of_weight(name: str, wanted: float) -> Rule:
    """The rule for a weight that holds one number everywhere."""

    def pattern(op: Op, x: Value, c: Const) -> Any:
        return getattr(op, name)(x, c)

    pattern.__doc__ = f"{name} with a weight of {'ones' if wanted else 'zeros'} that nobody trains."
    made = rule(
        name=f"{name.lower()}_with_{'ones' if wanted else 'zeros'}", since=7,
        level="exact" if wanted else "rounding", assume=["frozen"], always=True,
        cases=_weights(wanted),
    )(pattern)  # fmt: skip

    @made.to
    def _(op: Op, x: Value, c: Value) -> Any:
        del op
        if x.shape is None or c.shape is None or len(c.shape) > len(x.shape):
            return None
        if any(d not in (1, of_x) for d, of_x in zip(c.shape[::-1], x.shape[::-1])):
            return None
        held: Any = getattr(c, "constant", None)
        if held is None or not held.size or held.flat[0] != wanted:
            return None  # the first number settles it for nearly all weights
        return x if bool((held == wanted).all()) else None

    return made


WEIGHTS = [_of_weight(name, wanted) for name, wanted in _NEUTRAL.items()]
