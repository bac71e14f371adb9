"""Reductions that one operator does: norms, sums of squares, axes kept or removed by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.operators import all_facts
from onnxwright.optimizer.building import modern, runs
from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule


def _reduced(rng: Any) -> Draw:
    shape = sizes(rng, 1, 3)
    return {"x": floats(rng, shape), "axes": np.array([int(rng.integers(len(shape)))]),
            "keepdims": int(rng.integers(2))}  # fmt: skip


@rule(since=2, level="rounding", cases=_reduced)
def l2_norm(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    """The root of a sum of squares."""
    return op.Sqrt(op.ReduceSum(x * x, axes, keepdims=keepdims))


@l2_norm.also
def _(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    return op.Sqrt(op.ReduceSum(op.Pow(x, 2), axes, keepdims=keepdims))


@l2_norm.also
def _(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    return op.Sqrt(op.ReduceSumSquare(x, axes, keepdims=keepdims))


@l2_norm.to
def _(op: Op, x: Any, axes: Any, keepdims: Any) -> Any:
    axis_numbers = numbers(axes)
    if not axis_numbers or not runs(op, "ReduceL2", x.dtype) or not x.dtype.is_float:
        return None
    return modern(op).ReduceL2(x, axis_numbers, keepdims=keepdims)


@rule(since=2, level="rounding", cases=_reduced)
def sum_of_squares(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    """A sum of squares."""
    return op.ReduceSum(x * x, axes, keepdims=keepdims)


@sum_of_squares.also
def _(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
    return op.ReduceSum(op.Pow(x, 2), axes, keepdims=keepdims)


@sum_of_squares.to
def _(op: Op, x: Any, axes: Any, keepdims: Any) -> Any:
    axis_numbers = numbers(axes)
    if not axis_numbers or not runs(op, "ReduceSumSquare", x.dtype) or not x.dtype.is_float:
        return None
    return modern(op).ReduceSumSquare(x, axis_numbers, keepdims=keepdims)


# -- reductions of axes of length 1 ----------------------------------------------------------------

# Sums begin with 0: one of -0.0 alone may be 0.0.
_OF_ONE = {"ReduceMax": "exact", "ReduceMin": "exact", "ReduceProd": "exact",
           "ReduceMean": "rounding", "ReduceSum": "rounding"}  # fmt: skip


def _ones(rng: Any) -> Draw:
    shape = [int(n) for n in rng.integers(1, 4, size=2)]
    for _ in range(2):
        shape.insert(int(rng.integers(len(shape) + 1)), 1)
    gone = [n for n, d in enumerate(shape) if d == 1][: int(rng.integers(1, 3))]
    return {"x": floats(rng, tuple(shape)), "axes": np.array(gone) - len(shape) * rng.integers(2),
            "keepdims": int(rng.integers(2))}  # fmt: skip


def _of_one(name: str) -> Rule:
    """The rule for a reduction of axes of one element."""

    def pattern(op: Op, x: Value, axes: Const, keepdims: Attr) -> Any:
        return getattr(op, name)(x, axes, keepdims=keepdims)

    pattern.__doc__ = f"A {name} of axes of one element: they are kept, or removed."
    new_rule = rule(
        name=f"{name.lower()}_of_one", since=11, level=_OF_ONE[name], cases=_ones
    )(pattern)  # fmt: skip

    @new_rule.to
    def _(op: Op, x: Any, axes: Any, keepdims: Any) -> Any:
        reduced = numbers(axes)
        if not reduced or x.shape is None or any(x.shape[n] != 1 for n in reduced):
            return None
        if keepdims in (1, None):
            return x
        return modern(op).Squeeze(x, sorted(n % len(x.shape) for n in reduced))

    return new_rule


OF_ONE = [_of_one(name) for name in _OF_ONE]


# -- axes that are removed and added again, or kept and removed ------------------------------------

_REDUCTIONS = [record.name for record in all_facts() if record.reduces]


def _places(rng: Any) -> Draw:
    shape = sizes(rng, 2, 4)
    count = len(shape)
    axes = [int(n) for n in rng.permutation(count)[: int(rng.integers(1, count))]]
    left = [d for n, d in enumerate(shape) if n not in axes]
    return {"x": floats(rng, shape), "axes": np.array(axes) - count * rng.integers(2),
            "places": np.array(sorted(axes)) - count * rng.integers(2),
            "s": np.array(left), "axis": len(left)}  # fmt: skip


def _is_same(axes: Value, places: Value, x: Any) -> bool:
    """Whether two vectors of axes mean the same axes of a value."""
    one, other = numbers(axes), numbers(places)
    if x.rank is None or not one or other is None or len(one) != len(other):
        return False
    return sorted(n % x.rank for n in one) == sorted(n % x.rank for n in other)


def _with_axes(name: str) -> Rule:
    """The rule for a reduction whose axes are added again."""

    def pattern(op: Op, x: Value, axes: Const, places: Const) -> Any:
        return op.Unsqueeze(getattr(op, name)(x, axes, keepdims=0), places)

    pattern.__doc__ = f"A {name} whose axes are added again: it keeps them."
    new_rule = rule(name=f"unsqueeze_of_{name.lower()}", cases=_places)(pattern)

    @new_rule.to
    def _(op: Op, x: Any, axes: Any, places: Any) -> Any:
        if not _is_same(axes, places, x):
            return None
        return getattr(modern(op), name)(x, numbers(axes), keepdims=1)

    return new_rule


def _without_axes(name: str) -> Rule:
    """The rule for a reduction whose axes are kept, and then removed."""

    def pattern(op: Op, x: Value, axes: Const, places: Const) -> Any:
        return op.Squeeze(getattr(op, name)(x, axes, keepdims=1), places)

    pattern.__doc__ = f"A {name} that keeps its axes, which are then removed: it removes them."
    new_rule = rule(name=f"squeeze_of_{name.lower()}", cases=_places)(pattern)

    @new_rule.also
    def _(op: Op, x: Value, axes: Const, s: Value) -> Any:
        return op.Reshape(getattr(op, name)(x, axes, keepdims=1), s)

    @new_rule.also
    def _(op: Op, x: Value, axes: Const, axis: Attr) -> Any:
        return op.Flatten(getattr(op, name)(x, axes, keepdims=1), axis=axis)

    @new_rule.to
    def _(op: Op, x: Any, axes: Any, places: Any, match: Any) -> Any:
        fits = _leaves(x, axes, match.kinds[0]) if places is None else _is_same(axes, places, x)
        return getattr(modern(op), name)(x, numbers(axes), keepdims=0) if fits else None

    return new_rule


def _leaves(x: Any, axes: Value, result: Any) -> bool:
    """Whether a result has the dimensions that are left without some axes, all of them known."""
    gone = numbers(axes)
    if x.shape is None or not gone or result is None or result.shape is None:
        return False
    places = {n % len(x.shape) for n in gone}
    left = [d for n, d in enumerate(x.shape) if n not in places]
    return None not in left and left == list(result.shape)


WITH_AXES = [_with_axes(name) for name in _REDUCTIONS]
WITHOUT_AXES = [_without_axes(name) for name in _REDUCTIONS]
