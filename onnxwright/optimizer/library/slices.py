"""Slices of Slices, and Slices that split an image into blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import modern, runs
from onnxwright.optimizer.constants import numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule

_FAR = (1 << 31) - 1


def _cuts(rng: Any) -> Draw:
    x = floats(rng, (3, 9))
    first = [int(n) for n in rng.integers(-9, 12, size=2)]
    second = [int(n) for n in rng.integers(-9, 12, size=2)]
    return {
        "x": x,
        "a": np.array([first[0]]), "b": np.array([first[1]]),
        "c": np.array([second[0]]), "d": np.array([second[1]]),
        "e": np.array([int(rng.integers(-2, 2))]), "f": np.array([int(rng.integers(-2, 2))]),
        "s": np.array([1 if rng.integers(3) else 2]), "t": np.array([1]),
    }  # fmt: skip


@rule(since=1, cases=_cuts)
def slice_of_slice(
    op: Op, x: Value, a: Const, b: Const, e: Const, c: Const, d: Const, f: Const,
    s: Const | None = None, t: Const | None = None,
) -> Any:  # fmt: skip
    """A Slice of a Slice is one, of both axes or of fewer elements."""
    return op.Slice(op.Slice(x, a, b, e, s), c, d, f, t)


@slice_of_slice.to
def _(
    op: Op, x: Value, a: Value, b: Value, e: Value, c: Value, d: Value, f: Value, s: Value, t: Value
) -> Any:  # fmt: skip
    inner, outer = _slices(x, a, b, e, s), _slices(x, c, d, f, t)
    if inner is None or outer is None:
        return None
    for axis, (start, end, step) in outer.items():
        if axis not in inner:
            inner[axis] = (start, end, step)
            continue
        begin, until, by = inner[axis]
        if (by, step) != (1, 1):
            return None
        size = x.shape[axis]
        if not isinstance(size, int):
            if min(begin, until, start, end) < 0:
                return None
            inner[axis] = (min(begin + start, _FAR), min(until, begin + end), 1)
            continue
        first, last, _ = slice(begin, until).indices(size)
        low, high, _ = slice(start, end).indices(max(last - first, 0))
        inner[axis] = (first + low, first + max(low, high), 1)
    rows = sorted(inner.items())
    steps = [row[2] for _, row in rows]
    bounds = [[row[0] for _, row in rows], [row[1] for _, row in rows], [axis for axis, _ in rows]]
    return modern(op).Slice(x, *bounds, *([] if all(n == 1 for n in steps) else [steps]))


def _two_axes(rng: Any) -> Draw:
    drawn = _cuts(rng)
    return {**drawn, "e": np.array([0]), "f": np.array([-1])}


@rule(since=1, late=True, always=True, cases=_two_axes)
def slices_of_one_slice(
    op: Op, x: Value, a: Const, b: Const, e: Const, c: Const, d: Const, f: Const,
    s: Const | None = None, t: Const | None = None,
) -> Any:  # fmt: skip
    """Slices of one Slice, each along other axes, read what it reads; then nothing reads it."""
    return op.Slice(op.Slice(x, a, b, e, s), c, d, f, t)


@slices_of_one_slice.to
def _(
    op: Op, x: Value, a: Value, b: Value, e: Value, c: Value, d: Value, f: Value, s: Value,
    t: Value, match: Any,
) -> Any:  # fmt: skip
    inner, outer = _slices(x, a, b, e, s), _slices(x, c, d, f, t)
    if inner is None or outer is None or inner.keys() & outer.keys():
        return None
    between = match.roots[0].inputs[0]
    readers = [use.node for use in between.uses()]
    if between.is_graph_output() or any(n.op_type != "Slice" for n in readers):
        return None
    rows = sorted({**inner, **outer}.items())
    bounds = [[row[0] for _, row in rows], [row[1] for _, row in rows], [axis for axis, _ in rows]]
    return modern(op).Slice(x, *bounds, [row[2] for _, row in rows])


def _quarters(rng: Any) -> Draw:
    h, w = (2 * int(n) for n in rng.integers(1, 4, size=2))
    far = int(rng.choice([h + w, _FAR]))
    starts = {f"a{n}": np.array([n // 2, n % 2]) for n in range(4)}
    return {
        "x": floats(rng, (2, 3, h, w)), **starts, "b": np.array([far, far]),
        "e": np.array([2, 3]), "s": np.array([2, 2]), "axis": 1,
    }  # fmt: skip


@rule(since=10, cases=_quarters)
def slices_to_depth(
    op: Op, x: Value, a0: Const, a1: Const, a2: Const, a3: Const, b: Const, e: Const, s: Const,
    axis: Attr,
) -> Any:  # fmt: skip
    """Every second row and column from each of four places, joined as channels: SpaceToDepth."""
    return op.Concat(*(op.Slice(x, a, b, e, s) for a in (a0, a1, a2, a3)), axis=axis)


@slices_to_depth.to
def _(
    op: Op, x: Value, a0: Value, a1: Value, a2: Value, a3: Value, b: Value, e: Value, s: Value,
    axis: int,
) -> Any:  # fmt: skip
    if x.rank != 4 or axis not in (1, -3) or not runs(op, "SpaceToDepth", x.dtype):
        return None
    cuts = [_slices(x, a, b, e, s) for a in (a0, a1, a2, a3)]
    for n, one in enumerate(cuts):
        if one is None or one.keys() != {2, 3}:
            return None
        for place, (start, end, step) in one.items():
            size = x.shape[place]
            reach = size if isinstance(size, int) else _FAR
            if (start, step) != ((n // 2, n % 2)[place - 2], 2) or end < reach:
                return None
    return op.SpaceToDepth(x, blocksize=2)


def _slices(
    x: Any, starts: Any, ends: Any, axes: Any, steps: Any
) -> dict[int, tuple[int, int, int]] | None:
    """The start, end and step of each axis that a Slice cuts; None where one is not known."""
    bounds = [numbers(v) for v in (starts, ends, axes)]
    if x.rank is None or any(n is None for n in bounds):
        return None
    first, last, places = (n for n in bounds if n is not None)
    by = [1] * len(first) if steps is None else numbers(steps)
    if by is None or not len(first) == len(last) == len(places) == len(by):
        return None
    cuts = {
        axis % x.rank: (start, end, step)
        for start, end, axis, step in zip(first, last, places, by, strict=True)
    }
    return cuts if len(cuts) == len(places) else None
