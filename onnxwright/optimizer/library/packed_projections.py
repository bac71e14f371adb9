"""Queries, keys and values that one product gives: cut out of it, without a walk through axes.

PyTorch's `MultiheadAttention` lays them beside each other in a new axis, moves that to the front,
takes the three parts, and cuts each of them into heads around a Transpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import modern
from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, floats, sizes
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import Rule, rule


def _around(rng: Any) -> Draw:
    perm = [int(n) for n in rng.permutation(4)]
    added = int(rng.integers(4))
    return {
        "x": floats(rng, sizes(rng, 3, 3)),
        "a": np.array([added]),
        "perm": perm,
        "b": np.array([perm.index(added)]),
    }


@rule(since=13, cases=_around)
def transpose_of_added_axes(op: Op, x: Value, a: Const, perm: Attr, b: Const) -> Any:
    """A Transpose between an Unsqueeze and a Squeeze of the same axes: only the other axes move."""
    return op.Squeeze(op.Transpose(op.Unsqueeze(x, a), perm=perm), b)


@transpose_of_added_axes.to
def _(op: Any, x: Any, a: Any, perm: Any, b: Any) -> Any:
    added, removed = numbers(a), numbers(b)
    if added is None or removed is None or perm is None:
        return None
    rank = len(perm)
    new = {n % rank for n in added}
    if new != {perm[n % rank] for n in removed} or len(added) != len(removed):
        return None
    places = {axis: n for n, axis in enumerate(n for n in range(rank) if n not in new)}
    return op.Transpose(x, perm=[places[n] for n in perm if n not in new])


def _split(count: int) -> Rule:
    """The rule for this many parts."""

    def cases(rng: Any) -> Draw:
        n, m, d = sizes(rng, 3, 3)
        return {
            "x": floats(rng, (n, m, count * d)),
            "s": np.array([n, m, count, d]),
            "perm": [2, 0, 1, 3],
        }

    def pattern(op: Op, x: Value, s: Const, perm: Attr) -> Any:
        parts = op.Transpose(op.Reshape(x, s), perm=perm)
        return tuple(op.Gather(parts, n, axis=0) for n in range(count))

    def computed(op: Op, x: Value, s: Any, perm: Attr) -> Any:
        return pattern(op, x, s, perm)

    pattern.__doc__ = f"The {count} parts of an axis cut out of the last one: a Split of the last."
    new_rule = rule(name=f"split_of_{count}_packed", since=13, cases=cases)(pattern)
    new_rule.also(computed)

    @new_rule.to
    def _(op: Any, x: Any, perm: Any, match: Any) -> Any:
        moved = match.roots[0].inputs[0].producer()
        cut = match.resolve(moved.inputs[0])
        if cut is None or cut.shape is None or x.shape is None or perm is None:
            return None
        (*around, parts, size), (*before, width) = cut.shape, x.shape
        if around != before or None in around or parts != count or not isinstance(size, int):
            return None
        rank = len(cut.shape)
        if width != count * size or list(perm) != [rank - 2, *range(rank - 2), rank - 1]:
            return None
        return tuple(modern(op).Split(x, [size] * count, axis=-1, _outputs=count))

    return new_rule


SPLITS = [_split(count) for count in (2, 3)]


def _cut(rng: Any) -> Draw:
    n, h, m, d = (int(size) for size in rng.integers(1, 5, size=4))
    first = bool(rng.integers(2))
    return {
        "x": floats(rng, (m, n, h * d)),
        "s": np.array([m, n * h, d]),
        "perm": [1, 0, 2] if first else [2, 1, 0],
        "t": np.array([n, h, m, d] if first else [d, n, h, m]),
    }


@rule(cases=_cut)
def reshapes_around_transpose(op: Op, x: Value, s: Const, perm: Attr, t: Const) -> Any:
    """A Reshape after a Transpose that only cuts an axis in two: the Reshape before it cuts it."""
    return op.Reshape(op.Transpose(op.Reshape(x, s), perm=perm), t)


@reshapes_around_transpose.also
def _(op: Op, x: Value, s: Value, perm: Attr, t: Value) -> Any:
    return op.Reshape(op.Transpose(op.Reshape(x, s), perm=perm), t)


@reshapes_around_transpose.to
def _(op: Any, x: Any, perm: Any, match: Any) -> Any:
    moved = match.resolve(match.roots[0].inputs[0])
    result = match.kinds[0]
    if moved is None or moved.shape is None or result is None or result.shape is None:
        return None
    if perm is None or x.shape is None or None in moved.shape or None in result.shape:
        return None
    place = _cut_axis(moved.shape, result.shape)
    if place is None:
        return None
    axes = list(perm)
    cut = axes[place]
    dims = list(moved.shape)
    before = [dims[axes.index(n)] for n in range(len(axes))]
    before[cut : cut + 1] = result.shape[place : place + 2]
    shape = _as_numbers(before, x.shape)
    if shape is None:
        return None
    places = [n + (n > cut) for n in axes]
    places.insert(place + 1, cut + 1)
    return op.Transpose(op.Reshape(x, shape), perm=places)


def _cut_axis(before: Any, after: Any) -> int | None:
    """The axis of a shape that another shape splits into two; all others are equal."""
    if len(after) != len(before) + 1:
        return None
    same = 0
    while same < len(before) and before[same] == after[same]:
        same += 1
    place = min(same, len(before) - 1)
    rest = len(before) - place - 1
    if rest and list(before[place + 1 :]) != list(after[place + 2 :]):
        return None
    return place


def _as_numbers(dims: list[Any], from_shape: Any) -> list[int] | None:
    """A shape for Reshape: 0 for dimensions that stay where they are, one other may be -1."""
    shape = []
    for n, d in enumerate(dims):
        if n < len(from_shape) and from_shape[n] == d and d != 0:
            shape.append(0 if not isinstance(d, int) else d)
        elif isinstance(d, int):
            shape.append(d)
        else:
            shape.append(-1)
    fits = all(isinstance(d, int) and d > 0 for d, n in zip(dims, shape, strict=True) if n > 0)
    if not fits or shape.count(-1) > 1 or (-1 in shape and 0 in shape):
        return None  # of an empty tensor, -1 would be anything
    return shape
