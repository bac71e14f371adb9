"""Sequences that are built and then unpacked again."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.building import modern
from onnxwright.optimizer.constants import number, numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule


def _items(rng: Any) -> Draw:
    xs = [floats(rng, (int(rng.integers(1, 4)), 2)) for _ in range(int(rng.integers(1, 4)))]
    return {"x": xs[0], "y": floats(rng, (2, 2)), "xs": xs, "axis": 0,
            "place": np.array(int(rng.integers(-len(xs), len(xs) + 1)))}  # fmt: skip


@rule(since=11, cases=_items)
def concat_of_sequence(op: Op, *xs: Any, axis: Attr) -> Any:
    """A sequence that is built to be joined."""
    return op.ConcatFromSequence(op.SequenceConstruct(*xs), axis=axis)


@concat_of_sequence.to
def _(op: Op, *xs: Any, axis: Any) -> Any:
    # Operands of Concat have one rank; those of a sequence may differ.
    ranks = {x.rank for x in xs}
    return op.Concat(*xs, axis=axis) if len(ranks) == 1 and ranks != {0, None} else None


@rule(since=11, cases=_items)
def stack_of_sequence(op: Op, x: Value, axis: Attr) -> Any:
    """A sequence of one tensor that is stacked."""
    return op.ConcatFromSequence(op.SequenceConstruct(x), axis=axis, new_axis=1)


@stack_of_sequence.to
def _(op: Op, x: Value, axis: Any) -> Any:
    return modern(op).Unsqueeze(x, [axis])


@rule(since=11, cases=_items)
def first_of_sequence(op: Op, x: Value, y: Value) -> Any:
    """A tensor inserted in an empty sequence, and another behind it."""
    return op.SequenceInsert(op.SequenceInsert(op.SequenceEmpty(), x), y)


@first_of_sequence.to
def _(op: Op, x: Value, y: Value) -> Any:
    return op.SequenceConstruct(x, y) if x.dtype is y.dtype is not None else None


@rule(since=11, cases=_items)
def only_of_sequence(op: Op, x: Value) -> Any:
    """A tensor inserted in an empty sequence."""
    return op.SequenceInsert(op.SequenceEmpty(), x)


@only_of_sequence.to
def _(op: Op, x: Value) -> Any:
    return op.SequenceConstruct(x)


@rule(since=11, cases=_items)
def inserted_in_sequence(op: Op, *xs: Any, y: Value, place: Const | None = None) -> Any:
    """A tensor inserted in a sequence that was just built."""
    return op.SequenceInsert(op.SequenceConstruct(*xs), y, place)


@inserted_in_sequence.to
def _(op: Op, *xs: Any, y: Any, place: Any) -> Any:
    at = len(xs) if place is None else number(place)
    if at is None or not -len(xs) <= at <= len(xs):
        return None
    at = int(at) + (len(xs) if at < 0 else 0)
    return op.SequenceConstruct(*xs[:at], y, *xs[at:])


@rule(since=11, cases=_items)
def length_of_sequence(op: Op, *xs: Any) -> Any:
    """The length of a sequence that was just built."""
    return op.SequenceLength(op.SequenceConstruct(*xs))


@length_of_sequence.to
def _(op: Op, *xs: Any) -> Any:
    return op.constant(np.array(len(xs), np.int64))


def _cut(rng: Any) -> Draw:
    sizes = [np.array(3), np.array([2, 4])][int(rng.integers(2))]
    return {"x": floats(rng, (2, 6)), "sizes": sizes, "axis": 1,
            "i": np.array(int(rng.integers(-2, 2)))}  # fmt: skip


@rule(since=13, cases=_cut)
def part_of_split_sequence(op: Op, x: Value, sizes: Const, i: Const, axis: Attr) -> Any:
    """A sequence that a tensor is split into, and one part of it that is read."""
    return op.SequenceAt(op.SplitToSequence(x, sizes, axis=axis), i)


@part_of_split_sequence.to
def _(op: Op, x: Value, sizes: Value, i: Value, axis: Any) -> Any:
    lengths, place = numbers(sizes), number(i)
    if lengths is None or place is None or x.shape is None:
        return None
    size = x.shape[axis]
    if not isinstance(size, int) or min(lengths) <= 0:
        return None
    if sizes.rank == 0:
        lengths = [min(lengths[0], size - n) for n in range(0, size, lengths[0])]
    if sum(lengths) != size or not -len(lengths) <= place < len(lengths):
        return None
    first = sum(lengths[: int(place) % len(lengths)])
    last = first + lengths[int(place) % len(lengths)]
    return op.Slice(x, [first], [last], [axis])
