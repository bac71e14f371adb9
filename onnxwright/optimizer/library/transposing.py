"""Transposes moved through what works on each element, so that two of them meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, float_type, floats, sizes
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op, Value
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

    def pattern(op: Op, x: Value, p: Attr, q: Attr, attrs: Attrs) -> Any:
        between = getattr(op, name)(op.Transpose(x, perm=p), **attrs)
        return op.Transpose(between, perm=q)

    pattern.__doc__ = f"A {name} between two Transposes: they are one, or none."
    new_rule = rule(
        name=f"transposes_around_{name.lower()}",
        since=20 if name == "Gelu" else 14,
        level="rounding" if name in _ROUNDED else "exact",
        cases=_cast if name == "Cast" else _twice,
    )(pattern)

    @new_rule.to
    def _(op: Any, x: Any, p: Any, q: Any, attrs: Any) -> Any:
        if p is None or q is None or len(p) != len(q):
            return None
        both = [p[n] for n in q]
        return getattr(op, name)(op.Transpose(x, perm=both), **attrs)

    return new_rule


BETWEEN = [_between(name) for name in _UNARY]


def _two(rng: Any) -> Draw:
    shape, dtype = sizes(rng, 3, 3), float_type(rng)
    perm = [int(n) for n in rng.permutation(3)]
    return {"x": floats(rng, shape, dtype), "y": floats(rng, shape, dtype), "p": perm}


def _of_both(name: str) -> Rule:
    """The rule for an operator that reads two values transposed in the same way."""

    def pattern(op: Op, x: Value, y: Value, p: Attr) -> Any:
        return getattr(op, name)(op.Transpose(x, perm=p), op.Transpose(y, perm=p))

    pattern.__doc__ = f"A {name} of two values that are transposed alike: one Transpose after it."
    new_rule = rule(name=f"transposes_before_{name.lower()}", cases=_two)(pattern)

    @new_rule.to
    def _(op: Op, x: Any, y: Any, p: Any) -> Any:
        if p is None or x.rank is None or x.rank != y.rank:
            return None
        return op.Transpose(getattr(op, name)(x, y), perm=p)

    return new_rule


BEFORE = [_of_both(name) for name in ("Add", "Sub", "Mul", "Div")]


def _both_ways(rng: Any) -> Draw:
    drawn = _two(rng)
    return {**drawn, "q": [int(n) for n in np.argsort(drawn["p"])]}


def _between_both(name: str) -> Rule:
    """The rule for an operator on two transposed values whose result is transposed back."""

    def pattern(op: Op, x: Value, y: Value, p: Attr, q: Attr) -> Any:
        both = getattr(op, name)(op.Transpose(x, perm=p), op.Transpose(y, perm=p))
        return op.Transpose(both, perm=q)

    pattern.__doc__ = f"A {name} of two transposed values, transposed back: it needs none of them."
    # Others may read the transposed values, as a residual connection does.
    new_rule = rule(name=f"transposes_around_two_of_{name.lower()}", always=True, cases=_both_ways)(
        pattern
    )

    @new_rule.to
    def _(op: Any, x: Any, y: Any, p: Any, q: Any, match: Any) -> Any:
        if p is None or q is None or x.rank is None or x.rank != y.rank:
            return None
        between = match.roots[0].inputs[0]
        if between.is_graph_output() or len(between.uses()) != 1:
            return None
        if [p[n] for n in q] != list(range(len(p))):
            return None
        return getattr(op, name)(x, y)

    return new_rule


BETWEEN_BOTH = [_between_both(name) for name in ("Add", "Sub", "Mul", "Div")]


def _constant(rng: Any) -> Draw:
    drawn = _twice(rng)
    x = drawn["x"]
    moved = [x.shape[n] for n in drawn["p"]]
    shape = tuple(d if rng.integers(2) else 1 for d in moved)[int(rng.integers(4)) :]
    return {**drawn, "c": floats(rng, shape, x.dtype), "d": floats(rng, shape, x.dtype)}


def _with_constant(name: str) -> Rule:
    """The rule for an operator with a constant between two Transposes."""

    def pattern(op: Op, x: Value, c: Const, p: Attr, q: Attr) -> Any:
        return op.Transpose(getattr(op, name)(op.Transpose(x, perm=p), c), perm=q)

    def swapped(op: Op, x: Value, d: Const, p: Attr, q: Attr) -> Any:
        return op.Transpose(getattr(op, name)(d, op.Transpose(x, perm=p)), perm=q)

    pattern.__doc__ = f"A {name} with a constant between two Transposes: they are one, or none."
    new_rule = rule(name=f"transposes_around_constant_{name.lower()}", cases=_constant)(pattern)
    if name in ("Sub", "Div"):
        new_rule.also(swapped)
        new_rule.to(lambda op, x, c, d, p, q: _moved(op, name, x, (c, d), p, q))
    else:
        new_rule.to(lambda op, x, c, p, q: _moved(op, name, x, (c, None), p, q))
    return new_rule


def _moved(op: Any, name: str, x: Any, constants: tuple[Any, Any], p: Any, q: Any) -> Any:
    """The operator after one Transpose, with its constant on the right or left transposed too."""
    right, left = constants
    c = left if right is None else right
    if p is None or q is None or c.shape is None or x.rank is None or c.rank > x.rank:
        return None
    if c.rank and any(d != 1 for d in c.shape):
        missing = list(range(x.rank - c.rank))
        c = op.Transpose(op.Unsqueeze(c, missing) if missing else c, perm=q)
    moved = op.Transpose(x, perm=[p[n] for n in q])
    return getattr(op, name)(moved, c) if left is None else getattr(op, name)(c, moved)


WITH_CONSTANT = [_with_constant(name) for name in ("Add", "Sub", "Mul", "Div")]

# Their result does not depend on the order of the elements.
_ORDERLESS = ("ReduceMax", "ReduceMin")


def _reduced(rng: Any) -> Draw:
    drawn = _twice(rng)
    axes = [int(n) for n in rng.permutation(3)[: int(rng.integers(1, 4))]]
    axes = [n - 3 if rng.integers(2) else n for n in axes]
    return {"x": drawn["x"], "p": drawn["p"], "axes": np.array(axes),
            "keepdims": int(rng.integers(2))}  # fmt: skip


def _reduction(name: str) -> Rule:
    """The rule for a reduction of a transposed value."""

    def pattern(op: Op, x: Value, axes: Const, p: Attr, keepdims: Attr) -> Any:
        return getattr(op, name)(op.Transpose(x, perm=p), axes, keepdims=keepdims)

    pattern.__doc__ = f"A {name} of a transposed value: what is left is transposed, if anything."
    new_rule = rule(
        name=f"transpose_before_{name.lower()}",
        level="exact" if name in _ORDERLESS else "rounding",
        cases=_reduced,
    )(pattern)

    @new_rule.to
    def _(op: Any, x: Any, axes: Any, p: Any, keepdims: Any) -> Any:
        reduced = numbers(axes)
        if not reduced or p is None or x.rank != len(p):
            return None
        gone = [n % len(p) for n in reduced]
        less = getattr(op, name)(x, sorted(p[n] for n in gone), keepdims=keepdims)
        if keepdims:
            return op.Transpose(less, perm=p)
        left = [d for n, d in enumerate(p) if n not in gone]
        perm = [sorted(left).index(d) for d in left]
        return less if perm == sorted(perm) else op.Transpose(less, perm=perm)

    return new_rule


REDUCTIONS = [
    _reduction(name)
    for name in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd")
]
