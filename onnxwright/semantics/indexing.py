"""`x[...]` with numpy's rules, built from Slice, Gather, GatherND, Compress and Unsqueeze.

The index is read once into a list of items, one an axis; then three steps run in order: new axes
(each is then an axis that is kept), slices, indices that remove or replace axes.  An ellipsis needs
no rank: what follows it counts from the last axis.
"""

from __future__ import annotations

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.advanced_indexing import apply_advanced
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.index_items import (
    FAR,
    ArrayItem,
    IntItem,
    Item,
    MaskItem,
    NewAxisItem,
    SliceItem,
    axis_count,
    read_index,
)
from onnxwright.semantics.literals import (
    concat,
    describe,
    emit1,
    gather,
    int_constant,
    rank_of,
    shape_of,
    squeeze,
    strengthen,
    unsqueeze,
    vector,
)
from onnxwright.types.kinds import SequenceType

_MAX = np.iinfo(np.int64).max
_MIN = np.iinfo(np.int64).min


def subscript(b: Backend[V], x: V, index: object) -> V:
    """`x[index]` as numpy means it.

    Args:
        x: a tensor value (or a sequence, indexed by one integer).
        index: an int, slice, `...`, `None`, integer or BOOL tensor, list of ints, or a tuple.

    Raises:
        ScriptTypeError: the index is of a kind that cannot index (OW413), or needs a rank or
            element type that is not known (OW408, OW414).
        ScriptValueError: too many indices (OW412), or a static one out of range (OW411).

    Source: the numpy reference on indexing, basic and advanced.
    """
    if isinstance(b.type_of(x), SequenceType):
        return emit1(b, "SequenceAt", (x, _sequence_position(b, index)))
    x = strengthen(b, x)
    items, split = read_index(b, x, index)
    x, items = _apply_new_axes(b, x, items, split)
    axes = _axes(b, x, items, split)
    _check_bounds(b, x, items, axes)
    x = _apply_slices(b, x, items, axes)
    if any(isinstance(i, (ArrayItem, MaskItem)) for i in items):
        return apply_advanced(b, x, items, axes, split)
    return _apply_ints(b, x, items, axes)


def _sequence_position(b: Backend[V], index: object) -> V:
    if isinstance(index, bool) or not (isinstance(index, int) or is_value(index)):
        advice = "a sequence is indexed by one integer"
        fail(messages.BadIndex(what=describe(index), advice=advice, span=b.here()))
    return strengthen(b, index) if is_value(index) else int_constant(b, index)


# -- reading the index -----------------------------------------------------------------------------


def _apply_new_axes(
    b: Backend[V], x: V, items: list[Item[V]], split: int
) -> tuple[V, list[Item[V]]]:
    """`x` with an axis of size one for each `None`, which is then an axis like the others."""
    if not any(isinstance(i, NewAxisItem) for i in items):
        return x, items
    places: list[int] = []
    at = 0
    for item in items[:split]:
        if isinstance(item, NewAxisItem):
            places.append(at)
        at += axis_count(item)
    at = -1
    for item in reversed(items[split:]):
        if isinstance(item, NewAxisItem):
            places.append(at)
        at -= axis_count(item)
    whole: SliceItem[V] = SliceItem(None, None, None)
    kept: list[Item[V]] = [whole if isinstance(i, NewAxisItem) else i for i in items]
    return unsqueeze(b, x, tuple(places)), kept


def _axes(b: Backend[V], x: V, items: list[Item[V]], split: int) -> list[int]:
    """The axis of `x` that each item starts at.

    Axes after an ellipsis count from the end where the rank is not known.
    """
    rank = rank_of(b, x)
    axes: list[int] = []
    axis = 0
    for n, item in enumerate(items):
        if n == split:
            axis = (rank or 0) - sum(axis_count(i) for i in items[split:])
        axes.append(axis)
        axis += axis_count(item)
    return axes


def _check_bounds(b: Backend[V], x: V, items: list[Item[V]], axes: list[int]) -> None:
    shape = shape_of(b, x)
    for item, axis in zip(items, axes, strict=True):
        if isinstance(item, SliceItem) and _is_one_of(item.step, 0):
            advice = "a step is positive or negative"
            fail(messages.BadIndex(what="a slice with step 0", advice=advice, span=b.here()))
        if shape is None or not isinstance(item, IntItem) or not isinstance(item.at, int):
            continue
        size = shape[axis]
        if isinstance(size, int) and not -size <= item.at < size:
            fail(messages.IndexOutOfRange(index=item.at, axis=axis, size=size, span=b.here()))


# -- slices ----------------------------------------------------------------------------------------


def _apply_slices(b: Backend[V], x: V, items: list[Item[V]], axes: list[int]) -> V:
    """One Slice for all slices of the index; `:` alone needs none."""
    starts: list[int | V] = []
    stops: list[int | V] = []
    steps: list[int | V] = []
    at: list[int] = []
    step: int | V
    for item, axis in zip(items, axes, strict=True):
        if not isinstance(item, SliceItem):
            continue
        if item.stop is None and _is_one_of(item.start, None, 0) and _is_one_of(item.step, None, 1):
            continue
        step = 1 if item.step is None else item.step
        stop = _default(b, item.stop, step, (_MAX, _MIN))
        start = _default(b, item.start, step, (0, _MAX))
        stop = _stop_backward(b, x, axis, item.start, stop, step)
        starts.append(start)
        stops.append(stop)
        steps.append(step)
        at.append(axis)
    if not at:
        return x
    if b.opset.version < 10:
        return _attribute_slice(b, x, starts, stops, steps, at)
    inputs = [x, _bounds(b, starts), _bounds(b, stops), int_constant(b, at)]
    if any(is_value(s) or s != 1 for s in steps):
        inputs.append(_bounds(b, steps))
    return emit1(b, "Slice", inputs)


def _stop_backward(
    b: Backend[V], x: V, axis: int, start: int | V | None, stop: int | V, step: int | V
) -> int | V:
    """The stop of a slice that may go backward from before the axis: numpy takes nothing then.

    ONNX moves such a start to 0 and takes that element; a stop at the far end takes none.
    """
    if start is None or (isinstance(step, int) and step > 0):
        return stop
    if isinstance(start, int):
        shape = shape_of(b, x)
        size = None if shape is None else shape[axis]
        if start >= -1:
            return stop
        if isinstance(size, int):
            if start >= -size:
                return stop
            if isinstance(step, int):
                return FAR
    sizes = emit1(b, "Shape", (x,))
    length = unsqueeze(b, gather(b, sizes, int_constant(b, axis)), (0,))
    zero = int_constant(b, [0])
    before = emit1(b, "Less", (emit1(b, "Add", (vector(b, start), length)), zero))
    if not isinstance(step, int):
        before = emit1(b, "And", (before, emit1(b, "Less", (vector(b, step), zero))))
    return emit1(b, "Where", (before, int_constant(b, [FAR]), vector(b, stop)))


def _is_one_of(bound: object, *choices: int | None) -> bool:
    """Whether a bound is one of these; a value is none of them (its `==` is elementwise)."""
    return not is_value(bound) and bound in choices


def _default(b: Backend[V], bound: int | V | None, step: int | V, ends: tuple[int, int]) -> int | V:
    """A missing bound: the near or far end of the axis, by the sign of the step."""
    if bound is not None:
        return bound
    if isinstance(step, int):
        return ends[0] if step > 0 else ends[1]
    negative = emit1(b, "Less", (vector(b, step), int_constant(b, [0])))
    forward, backward = int_constant(b, [ends[0]]), int_constant(b, [ends[1]])
    return emit1(b, "Where", (negative, backward, forward))


def _bounds(b: Backend[V], numbers: list[int | V]) -> V:
    static_numbers = [n for n in numbers if isinstance(n, int)]
    if len(static_numbers) == len(numbers):
        return int_constant(b, static_numbers)
    return concat(b, [vector(b, n) for n in numbers], axis=0)


def _attribute_slice(
    b: Backend[V],
    x: V,
    starts: list[int | V],
    stops: list[int | V],
    steps: list[int | V],
    at: list[int],
) -> V:
    if any(is_value(n) for n in (*starts, *stops, *steps)) or any(s != 1 for s in steps):
        fail(
            messages.OpsetTooOld(
                what="a slice with a step or a bound that is a tensor",
                op="Slice",
                needed=10,
                version=b.opset.version,
                span=b.here(),
            )
        )
    return emit1(b, "Slice", (x,), starts=starts, ends=stops, axes=at)


# -- integers only: each removes its axis ----------------------------------------------------------


def _apply_ints(b: Backend[V], x: V, items: list[Item[V]], axes: list[int]) -> V:
    integers = [(axis, i.at) for i, axis in zip(items, axes, strict=True) if isinstance(i, IntItem)]
    if not integers:
        return x
    leading = [axis for axis, _ in integers] == list(range(len(integers)))
    places = [at for _, at in integers if isinstance(at, int)]
    if len(integers) > 1 and leading and len(places) == len(integers) and b.opset.version >= 11:
        return emit1(b, "GatherND", (x, int_constant(b, places)))
    # From the last axis to the first, so that the axes before keep their numbers; axes that
    # count from the end go the other way.
    ordered = sorted(integers, key=lambda pair: pair[0], reverse=True)
    negative = [pair for pair in reversed(ordered) if pair[0] < 0]
    for axis, at in [pair for pair in ordered if pair[0] >= 0] + negative:
        x = _gather_int(b, x, at, axis)
    return x


def _gather_int(b: Backend[V], x: V, at: int | V, axis: int) -> V:
    if isinstance(at, int):
        if at < 0 and b.opset.version < 11:
            piece = _attribute_or_input_slice(b, x, at, axis)
            return squeeze(b, piece, (axis,))
        return gather(b, x, int_constant(b, at), axis)
    return gather(b, x, at, axis)


def _attribute_or_input_slice(b: Backend[V], x: V, at: int, axis: int) -> V:
    stop = at + 1 if at != -1 else _MAX
    if b.opset.version < 10:
        return emit1(b, "Slice", (x,), starts=[at], ends=[stop], axes=[axis])
    inputs = [x, int_constant(b, [at]), int_constant(b, [stop]), int_constant(b, [axis])]
    return emit1(b, "Slice", inputs)


# -- tensors and masks -----------------------------------------------------------------------------
