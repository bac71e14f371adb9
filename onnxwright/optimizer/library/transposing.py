"""Transposes moved through what works on each element, so that two of them meet."""

from __future__ import annotations

from typing import Any

from onnxwright.optimizer.drawing import Draw, float_type, floats, sizes
from onnxwright.optimizer.patterns import Attr, Attrs
from onnxwright.optimizer.rules import Rule, rule

# Operators of one input whose result has the order of that input.
_UNARY = ("Relu", "Sigmoid", "Tanh", "Erf", "Gelu", "Neg", "Abs", "Sqrt", "Exp", "LeakyRelu",
          "HardSwish", "HardSigmoid", "Elu", "Softplus", "Cast")  # fmt: skip


# Their result depends on the place of an element in its vector register by the last bit.
_ROUNDED = frozenset(_UNARY) - {"Relu", "Neg", "Abs", "LeakyRelu", "Cast"}


def _twice(rng: Any) -> Draw:
    first, second = ([int(n) for n in rng.permutation(3)] for _ in range(2))
    return {"x": floats(rng, sizes(rng, 3, 3)), "p": first, "q": second,
            "attrs": {}}  # fmt: skip


def _cast(rng: Any) -> Draw:
    return {**_twice(rng), "attrs": {"to": 11}}


def _between(name: str) -> Rule:
    """The rule for an operator between two Transposes."""

    def pattern(op: Any, x: Any, p: Attr, q: Attr, attrs: Attrs) -> Any:
        between = getattr(op, name)(op.Transpose(x, perm=p), **attrs)
        return op.Transpose(between, perm=q)

    pattern.__doc__ = f"A {name} between two Transposes: they are one, or none."
    made = rule(
        name=f"transposes_around_{name.lower()}",
        since=20 if name == "Gelu" else 14,
        level="rounding" if name in _ROUNDED else "exact",
        cases=_cast if name == "Cast" else _twice,
    )(pattern)

    @made.to
    def _(op: Any, x: Any, p: Any, q: Any, attrs: Any) -> Any:
        if p is None or q is None or len(p) != len(q):
            return None
        both = [p[n] for n in q]
        return getattr(op, name)(op.Transpose(x, perm=both), **attrs)

    return made


BETWEEN = [_between(name) for name in _UNARY]


def _two(rng: Any) -> Draw:
    shape, dtype = sizes(rng, 3, 3), float_type(rng)
    perm = [int(n) for n in rng.permutation(3)]
    return {"x": floats(rng, shape, dtype), "y": floats(rng, shape, dtype), "p": perm}


def _of_both(name: str) -> Rule:
    """The rule for an operator that reads two values transposed in the same way."""

    def pattern(op: Any, x: Any, y: Any, p: Attr) -> Any:
        return getattr(op, name)(op.Transpose(x, perm=p), op.Transpose(y, perm=p))

    pattern.__doc__ = f"A {name} of two values that are transposed alike: one Transpose after it."
    made = rule(name=f"transposes_before_{name.lower()}", cases=_two)(pattern)

    @made.to
    def _(op: Any, x: Any, y: Any, p: Any) -> Any:
        if p is None or x.rank is None or x.rank != y.rank:
            return None
        return op.Transpose(getattr(op, name)(x, y), perm=p)

    return made


BEFORE = [_of_both(name) for name in ("Add", "Sub", "Mul", "Div")]
