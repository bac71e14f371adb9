"""Chains of Relu, Clip, Min and Max."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import is_read_once, makers, modern, runs
from onnxwright.optimizer.constants import number
from onnxwright.optimizer.drawing import Draw, float_type, floats, sizes
from onnxwright.optimizer.patterns import Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule


def _bounds(rng: Any) -> Draw:
    dtype = float_type(rng)
    x = np.asarray(floats(rng, sizes(rng, 1, 2), dtype) * 3, dtype)
    x.reshape(-1)[: int(rng.integers(3))] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    drawn = {n: np.array(v, dtype) for n, v in zip("abcd", rng.integers(-3, 4, size=4))}
    absent = rng.integers(3)
    return {"x": x, **drawn, **({"a": None} if absent == 1 else {"d": None} if absent == 2 else {})}


def _bound_numbers(*bounds: Any) -> list[float | None] | None:
    """The numbers of bounds, None for an absent one; nothing where one is not known."""
    bound_numbers = [number(b) for b in bounds]
    if any(n is None and b is not None for n, b in zip(bound_numbers, bounds, strict=True)):
        return None
    return None if any(n is not None and np.isnan(n) for n in bound_numbers) else bound_numbers


def _clip(op: Op, x: Any, low: float | None, high: float | None) -> Any:
    if low is not None and low == high == 0:
        return None  # a zero that is left alone keeps its sign
    dtype = x.dtype.numpy

    def bound(n: float | None) -> Any:
        return None if n is None else np.array(n, dtype)

    return modern(op).Clip(x, bound(low), bound(high))


@rule(since=6, cases=_bounds)
def clip_of_clip(
    op: Op,
    x: Value,
    a: Const | None = None,
    b: Const | None = None,
    c: Const | None = None,
    d: Const | None = None,
) -> Any:
    """A Clip of a Clip: bounds that are disjoint give the outer one that is nearer."""
    return op.Clip(op.Clip(x, a, b), c, d)


@clip_of_clip.to
def _(op: Op, x: Value, a: Value, b: Value, c: Value, d: Value) -> Any:
    limits = _bound_numbers(a, b, c, d)
    if limits is None or x.dtype is None:
        return None
    low, high = _both(limits[0], limits[1], limits[2], limits[3])
    return _clip(op, x, low, high)


def _both(
    a: float | None, b: float | None, c: float | None, d: float | None
) -> tuple[float | None, float | None]:
    """The bounds of `min(max(min(max(x, a), b), c), d)`: what it gives for -inf and inf."""
    infinity = float("inf")
    low, high = -infinity, infinity
    for least, most in ((a, b), (c, d)):
        least, most = -infinity if least is None else least, infinity if most is None else most
        low, high = (min(max(end, least), most) for end in (low, high))
    return (None if low == -infinity else low), (None if high == infinity else high)


@rule(since=6, cases=_bounds)
def relu_of_clip(op: Op, x: Value, a: Const | None = None, b: Const | None = None) -> Any:
    """A Relu of a Clip is a Clip from 0."""
    return op.Relu(op.Clip(x, a, b))


@relu_of_clip.to
def _(op: Op, x: Value, a: Value, b: Value) -> Any:
    limits = _bound_numbers(a, b)
    if limits is None or x.dtype is None or not runs(op, "Clip", x.dtype):
        return None
    return _clip(op, x, *_both(limits[0], limits[1], 0.0, None))


@rule(since=6, cases=_bounds)
def clip_of_relu(op: Op, x: Value, b: Const, a: Const | None = None) -> Any:
    """A Clip of a Relu that has an upper bound is a Clip from 0."""
    return op.Clip(op.Relu(x), a, b)


@clip_of_relu.to
def _(op: Op, x: Any, a: Any, b: Any) -> Any:
    limits = _bound_numbers(a, b)
    if limits is None or b is None or x.dtype is None:
        return None
    return _clip(op, x, *_both(0.0, None, limits[0], limits[1]))


@rule(since=8, level="rounding", cases=_bounds)
def min_of_max(op: Op, x: Value, b: Const, c: Const) -> Any:
    """Max and Min with a number each are a Clip; the sign of zeros is that of Clip."""
    return op.Min(op.Max(x, b), c)


@min_of_max.to
def _(op: Op, x: Value, b: Value, c: Value) -> Any:
    return _clipped(op, x, b, c, b_first=True)


@rule(since=8, level="rounding", cases=_bounds)
def max_of_min(op: Op, x: Value, b: Const, c: Const) -> Any:
    """Min and Max with a number each are a Clip; the sign of zeros is that of Clip."""
    return op.Max(op.Min(x, b), c)


@max_of_min.to
def _(op: Op, x: Value, b: Value, c: Value) -> Any:
    return _clipped(op, x, c, b, b_first=False)


def _clipped(op: Op, x: Any, low: Any, high: Any, *, b_first: bool) -> Any:
    """The Clip of two bounds, if they are numbers in order that do not widen `x`."""
    bounds = _bound_numbers(low, high)
    if bounds is None or x.dtype is None or not runs(op, "Clip", x.dtype) or x.constant is not None:
        return None
    if any(b.rank and (x.rank is None or x.rank < b.rank) for b in (low, high)):
        return None
    least, most = bounds
    if least is None or most is None or (least > most and not b_first):
        return None
    if not all(np.isfinite(n) for n in (least, most)):
        return None
    return _clip(op, x, least, most)


@rule(since=8, cases=_bounds)
def min_of_relu(op: Op, x: Value, b: Const) -> Any:
    """A Relu and a Min with a number are a Clip from 0."""
    return op.Min(op.Relu(x), b)


@min_of_relu.to
def _(op: Op, x: Value, b: Value) -> Any:
    high = number(b)
    if high is None or not 0 < high < np.inf or x.dtype is None:
        return None
    if b.rank and (x.rank is None or x.rank < b.rank):
        return None
    return _clip(op, x, 0.0, high)


def _several(rng: Any) -> Draw:
    shape = sizes(rng, 1, 2)
    drawn = {n: floats(rng, shape) for n in "xyz"}
    return {**drawn, "xs": list(drawn.values())}


def _flattened(name: str) -> Rule:
    """The rule for an operator of many inputs, one of which the same operator makes."""

    def pattern(op: Op, *xs: Any) -> Any:
        return getattr(op, name)(*xs)

    def first(op: Op, x: Value, y: Value, z: Value) -> Any:
        return getattr(op, name)(getattr(op, name)(x, y), z)

    pattern.__doc__ = f"A {name} of a {name}: one of all their inputs."
    new_rule = rule(name=f"{name.lower()}_of_{name.lower()}", since=8, cases=_several)(pattern)
    new_rule.also(first)

    @new_rule.to
    def _(op: Op, x: Any, y: Any, z: Any, *xs: Any, match: Any) -> Any:
        if x is not None:
            return getattr(op, name)(x, y, z)
        sources = match.roots[0].inputs
        operands: list[Any] = []
        for value, node, source in zip(xs, makers(op, xs, name), sources, strict=True):
            alone = len(source.uses()) == 1 and not source.is_graph_output()
            if node is None or not alone:
                operands.append(value)
            else:
                operands += [op.backend.value_of(v) for v in node.inputs]
        return None if len(operands) == len(xs) else getattr(op, name)(*operands)

    return new_rule


FLATTENED = [_flattened(name) for name in ("Max", "Min")]


@rule(since=6, level="rounding", cases=lambda rng: {"x": floats(rng, sizes(rng, 1, 3)),
                                                    "a": np.array(0.25, np.float32)})  # fmt: skip
def leaky_relu(op: Op, x: Value, a: Const) -> Any:
    """LeakyRelu written with a product and Max."""
    return op.Max(x, x * a)


@leaky_relu.to
def _(op: Op, x: Any, a: Any) -> Any:
    slope = number(a)
    if slope is None or not 0 < slope <= 1 or not runs(op, "LeakyRelu", x.dtype):
        return None
    return op.LeakyRelu(x, alpha=slope) if a.rank == 0 or a.rank <= (x.rank or 0) else None


def _slopes(rng: Any) -> Draw:
    shape = sizes(rng, 1, 4)
    return {"x": floats(rng, shape), "c": floats(rng, [shape[-1:], (1,), (1,) * len(shape)]
                                                  [int(rng.integers(3))])}  # fmt: skip


@rule(since=9, level="rounding", cases=_slopes)
def p_relu(op: Op, x: Value, c: Const) -> Any:
    """PRelu written as a Relu and a scaled Relu of the negative."""
    return op.Relu(x) + c * op.Relu(-x)


@p_relu.to
def _(op: Op, x: Value, c: Value, match: Any) -> Any:
    if x.rank is None or c.rank is None or c.rank > x.rank or not runs(op, "PRelu", x.dtype):
        return None
    if not is_read_once(match, "c"):
        return None
    wide = zip(c.shape[::-1], x.shape[::-1])
    return op.PRelu(x, -c) if all(d in (1, of) for d, of in wide) else None
