"""`x[...]` with numpy's rules, built from Slice, Gather, GatherND, Compress and Unsqueeze.

The index is read once into a list of items, one an axis; then three steps run in order: new axes
(each is then an axis that is kept), slices, indices that remove or replace axes.  An ellipsis needs
no rank: what follows it counts from the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.literals import (
    array_of,
    as_value,
    cast,
    concat,
    describe,
    dtype_of,
    emit1,
    gather,
    int_constant,
    is_number_like,
    own_array,
    rank_of,
    shape_of,
    squeeze,
    strengthen,
    unsqueeze,
    vector,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType

_MAX = np.iinfo(np.int64).max
_MIN = np.iinfo(np.int64).min
# Beyond any axis; not the largest number, which ONNX Runtime reads as "to the end" either way.
_FAR = 1 << 62


@dataclass(frozen=True)
class _Slice:
    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True)
class _Int:
    """A static int or a scalar value: removes its axis."""

    at: Any


@dataclass(frozen=True)
class _Array:
    """An integer tensor of rank one or more (or unknown): replaces its axis."""

    at: Any
    rank: int | None


@dataclass(frozen=True)
class _Mask:
    """A BOOL tensor: selects along as many axes as it has."""

    at: Any
    rank: int | None


@dataclass(frozen=True)
class _NewAxis:
    pass


_Item = _Slice | _Int | _Array | _Mask | _NewAxis


def subscript(b: Backend[Any], x: Any, index: object) -> Any:
    """`x[index]` as numpy means it.

    Args:
        b: the backend.
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
    items, split = _read(b, x, index)
    x, items = _apply_new_axes(b, x, items, split)
    axes = _axes(b, x, items, split)
    _check_bounds(b, x, items, axes)
    x = _apply_slices(b, x, items, axes)
    if any(isinstance(i, (_Array, _Mask)) for i in items):
        return _apply_advanced(b, x, items, axes, split)
    return _apply_ints(b, x, items, axes)


def _sequence_position(b: Backend[V], index: object) -> V:
    if isinstance(index, bool) or not (isinstance(index, int) or is_value(index)):
        advice = "a sequence is indexed by one integer"
        fail(messages.BadIndex(what=describe(index), advice=advice, span=b.here()))
    return strengthen(b, index) if is_value(index) else int_constant(b, index)  # type: ignore[arg-type]


# -- reading the index -----------------------------------------------------------------------------


def _read(b: Backend[Any], x: Any, index: object) -> tuple[list[_Item], int]:
    """The items without the ellipsis, and how many stand before it."""
    raw = list(index) if isinstance(index, tuple) else [index]
    items: list[_Item] = []
    split: int | None = None
    for part in raw:
        if part is not Ellipsis:
            items.append(_item(b, part))
        elif split is None:
            split = len(items)
        else:
            advice = "write `...` once"
            fail(messages.BadIndex(what="a second `...`", advice=advice, span=b.here()))
    rank = rank_of(b, x)
    used = sum(_width(i) for i in items if not isinstance(i, _NewAxis))
    if rank is not None and used > rank:
        fail(messages.TooManyIndices(given=used, rank=rank, span=b.here()))
    return items, len(items) if split is None else split


def _apply_new_axes(
    b: Backend[Any], x: Any, items: list[_Item], split: int
) -> tuple[Any, list[_Item]]:
    """`x` with an axis of size one for each `None`, which is then an axis like the others."""
    if not any(isinstance(i, _NewAxis) for i in items):
        return x, items
    places: list[int] = []
    at = 0
    for item in items[:split]:
        if isinstance(item, _NewAxis):
            places.append(at)
        at += _width(item)
    at = -1
    for item in reversed(items[split:]):
        if isinstance(item, _NewAxis):
            places.append(at)
        at -= _width(item)
    whole = _Slice(None, None, None)
    kept: list[_Item] = [whole if isinstance(i, _NewAxis) else i for i in items]
    return unsqueeze(b, x, tuple(places)), kept


def _axes(b: Backend[Any], x: Any, items: list[_Item], split: int) -> list[int]:
    """The axis of `x` that each item starts at.

    Axes after an ellipsis count from the end where the rank is not known.
    """
    rank = rank_of(b, x)
    axes: list[int] = []
    axis = 0
    for n, item in enumerate(items):
        if n == split:
            axis = (rank or 0) - sum(_width(i) for i in items[split:])
        axes.append(axis)
        axis += _width(item)
    return axes


def _width(item: _Item) -> int:
    # A new axis counts as the axis it makes; a mask of unknown rank is taken to index one axis,
    # unless it stands alone.
    return item.rank if isinstance(item, _Mask) and item.rank is not None else 1


def _item(b: Backend[Any], part: object) -> _Item:
    if part is None:
        return _NewAxis()
    if isinstance(part, slice):
        return _Slice(*(_bound(b, v) for v in (part.start, part.stop, part.step)))
    if isinstance(part, (bool, np.bool_)):
        return _Mask(b.constant(np.array(bool(part))), 0)
    if isinstance(part, (int, np.integer)):
        return _Int(int(part))
    array = own_array(part)
    if array is None and isinstance(part, (list, tuple, range)):
        if len(part) == 0:
            array = np.zeros((0,), np.int64)
        elif is_number_like(part):
            array = array_of(b, part)
    if array is not None:
        part = b.constant(array if array.dtype == np.bool_ else _as_int_index(b, array))
    elif isinstance(part, (list, tuple)):
        part = as_value(b, part)
    if not is_value(part):
        advice = "index with integers, slices, `...`, `None`, integer tensors or a BOOL mask"
        fail(messages.BadIndex(what=describe(part), advice=advice, span=b.here()))
    return _tensor_item(b, part)


def _as_int_index(b: Backend[Any], array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "iu":
        advice = "index with integers; cast the array to int64"
        fail(messages.BadIndex(what=f"a {array.dtype} array", advice=advice, span=b.here()))
    return array.astype(np.int64)


def _tensor_item(b: Backend[Any], part: Any) -> _Item:
    part = b.as_weak(part, None)
    dtype, rank = dtype_of(b, part), rank_of(b, part)
    if dtype is DType.BOOL:
        return _Mask(part, rank)
    if dtype is not None and not dtype.is_integer:
        advice = "index with INT64 or INT32 tensors; cast with `op.Cast(i, to=INT64)`"
        fail(messages.BadIndex(what=f"a {dtype.name} tensor", advice=advice, span=b.here()))
    if dtype not in (None, DType.INT32, DType.INT64):
        part = cast(b, part, DType.INT64)
    known = b.constant_value(part)
    if rank == 0:
        return _Int(int(known) if known is not None else part)
    return _Array(part, rank)


def _bound(b: Backend[Any], v: object) -> Any:
    """A bound of a slice: None, a Python int, or a value."""
    if v is None or (isinstance(v, (int, np.integer)) and not isinstance(v, bool)):
        # Beyond any axis is beyond any axis, also past 64 bits.
        return None if v is None else max(-_FAR, min(int(v), _FAR))
    if is_value(v):
        dtype = dtype_of(b, v)
        if dtype is not None and not dtype.is_integer:
            advice = "a slice takes integers; cast with `op.Cast(i, to=INT64)`"
            fail(messages.BadIndex(what=f"a {dtype.name} tensor", advice=advice, span=b.here()))
        known = b.constant_value(v)
        if known is not None and known.size == 1:
            return int(known.reshape(()))
        return v
    array = own_array(v)
    if array is not None and array.size == 1 and array.dtype.kind in "iu":
        return int(array.reshape(()))
    if isinstance(v, (list, tuple)) and len(v) == 1:
        return _bound(b, v[0])
    promote = getattr(v, "__ow_as_value__", None)
    if promote is not None:
        return promote(b, DType.INT64)
    advice = "a slice takes integers"
    fail(messages.BadIndex(what=describe(v), advice=advice, span=b.here()))


def _check_bounds(b: Backend[Any], x: Any, items: list[_Item], axes: list[int]) -> None:
    shape = shape_of(b, x)
    for item, axis in zip(items, axes, strict=True):
        if isinstance(item, _Slice) and _is_one_of(item.step, 0):
            advice = "a step is positive or negative"
            fail(messages.BadIndex(what="a slice with step 0", advice=advice, span=b.here()))
        if shape is None or not isinstance(item, _Int) or not isinstance(item.at, int):
            continue
        size = shape[axis]
        if isinstance(size, int) and not -size <= item.at < size:
            fail(messages.IndexOutOfRange(index=item.at, axis=axis, size=size, span=b.here()))


# -- slices ----------------------------------------------------------------------------------------


def _apply_slices(b: Backend[Any], x: Any, items: list[_Item], axes: list[int]) -> Any:
    """One Slice for all slices of the index; `:` alone needs none."""
    starts, stops, steps, at = [], [], [], []
    for item, axis in zip(items, axes, strict=True):
        if not isinstance(item, _Slice):
            continue
        if item.stop is None and _is_one_of(item.start, None, 0) and _is_one_of(item.step, None, 1):
            continue
        step = 1 if item.step is None else item.step
        stop = _default(b, item.stop, step, (_MAX, _MIN))
        starts.append(_default(b, item.start, step, (0, _MAX)))
        stops.append(_stop_backward(b, x, axis, item.start, stop, step))
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


def _stop_backward(b: Backend[Any], x: Any, axis: int, start: Any, stop: Any, step: Any) -> Any:
    """The stop of a slice that may go backward from before the axis: numpy takes nothing then.

    ONNX moves such a start to 0 and takes that element; a stop at the far end takes none.
    """
    if start is None or (not is_value(step) and step > 0):
        return stop
    if not is_value(start):
        shape = shape_of(b, x)
        size = None if shape is None else shape[axis]
        if start >= -1:
            return stop
        if isinstance(size, int):
            if start >= -size:
                return stop
            if not is_value(step):
                return _FAR
    sizes = emit1(b, "Shape", (x,))
    size = unsqueeze(b, gather(b, sizes, int_constant(b, axis)), (0,))
    zero = int_constant(b, [0])
    before = emit1(b, "Less", (emit1(b, "Add", (vector(b, start), size)), zero))
    if is_value(step):
        before = emit1(b, "And", (before, emit1(b, "Less", (vector(b, step), zero))))
    return emit1(b, "Where", (before, int_constant(b, [_FAR]), vector(b, stop)))


def _is_one_of(bound: Any, *choices: int | None) -> bool:
    """Whether a bound is one of these; a value is none of them (its `==` is elementwise)."""
    return not is_value(bound) and bound in choices


def _default(b: Backend[Any], bound: Any, step: Any, ends: tuple[int, int]) -> Any:
    """A missing bound: the near or far end of the axis, by the sign of the step."""
    if bound is not None:
        return bound
    if not is_value(step):
        return ends[0] if step > 0 else ends[1]
    negative = emit1(b, "Less", (vector(b, step), int_constant(b, [0])))
    forward, backward = int_constant(b, [ends[0]]), int_constant(b, [ends[1]])
    return emit1(b, "Where", (negative, backward, forward))


def _bounds(b: Backend[Any], numbers: list[Any]) -> Any:
    if not any(is_value(n) for n in numbers):
        return int_constant(b, numbers)
    return concat(b, [vector(b, n) for n in numbers], axis=0)


def _attribute_slice(
    b: Backend[Any], x: Any, starts: list[Any], stops: list[Any], steps: list[Any], at: list[int]
) -> Any:
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


def _apply_ints(b: Backend[Any], x: Any, items: list[_Item], axes: list[int]) -> Any:
    found = [(axis, i.at) for i, axis in zip(items, axes, strict=True) if isinstance(i, _Int)]
    if not found:
        return x
    leading = [axis for axis, _ in found] == list(range(len(found)))
    if len(found) > 1 and leading and all(isinstance(at, int) for _, at in found):
        if b.opset.version >= 11:
            return emit1(b, "GatherND", (x, int_constant(b, [at for _, at in found])))
    # From the last axis to the first, so that the axes before keep their numbers; axes that
    # count from the end go the other way.
    ordered = sorted(found, key=lambda pair: pair[0], reverse=True)
    negative = [pair for pair in reversed(ordered) if pair[0] < 0]
    for axis, at in [pair for pair in ordered if pair[0] >= 0] + negative:
        x = _gather_int(b, x, at, axis)
    return x


def _gather_int(b: Backend[Any], x: Any, at: Any, axis: int) -> Any:
    if isinstance(at, int):
        if at < 0 and b.opset.version < 11:
            piece = _attribute_or_input_slice(b, x, at, axis)
            return squeeze(b, piece, (axis,))
        return gather(b, x, int_constant(b, at), axis)
    return gather(b, x, at, axis)


def _attribute_or_input_slice(b: Backend[Any], x: Any, at: int, axis: int) -> Any:
    stop = at + 1 if at != -1 else _MAX
    if b.opset.version < 10:
        return emit1(b, "Slice", (x,), starts=[at], ends=[stop], axes=[axis])
    inputs = [x, int_constant(b, [at]), int_constant(b, [stop]), int_constant(b, [axis])]
    return emit1(b, "Slice", inputs)


# -- tensors and masks -----------------------------------------------------------------------------


def _apply_advanced(
    b: Backend[Any], x: Any, items: list[_Item], axes: list[int], split: int
) -> Any:
    """Integer tensors and masks, with the integers beside them (numpy: they are indices too)."""
    chosen = [
        (n, item, axis)
        for n, (item, axis) in enumerate(zip(items, axes, strict=True))
        if isinstance(item, (_Int, _Array, _Mask))
    ]
    if len(chosen) == 1:
        return _apply_one(b, x, chosen[0][1], chosen[0][2])
    first, last = chosen[0][0], chosen[-1][0]
    adjacent = last - first + 1 == len(chosen) and not first < split <= last
    indices, at_axes = _index_rows(b, chosen)
    indices, width = _same_shape(b, indices)
    rows = concat(b, [unsqueeze(b, i, (-1,)) for i in indices], axis=-1)
    if rank_of(b, x) is None and adjacent and at_axes[0] > 0:
        return _gather_inner(b, x, rows, at_axes[0])
    x, rest = _bring_to_front(b, x, at_axes)
    x = emit1(b, "GatherND", (x, rows))
    if adjacent and at_axes[0] != 0:
        if width is None:
            what = "indexing inner axes with several tensors"
            fail(messages.UnknownRank(what=what, span=b.here()))
        x = _move_axes(b, x, width, at_axes[0], rest)
    return x


def _gather_inner(b: Backend[Any], x: Any, rows: Any, before: int) -> Any:
    """Adjacent indices after `before` axes of a tensor of unknown rank: a batched GatherND."""
    whole = emit1(b, "Shape", (x,))
    sizes = [whole, int_constant(b, [0]), int_constant(b, [before]), int_constant(b, [0])]
    batch = emit1(b, "Slice", sizes)
    shape = concat(b, [batch, emit1(b, "Shape", (rows,))], axis=0)
    spread = emit1(b, "Expand", (rows, shape))
    return emit1(b, "GatherND", (x, spread), batch_dims=before)


def _apply_one(b: Backend[Any], x: Any, item: Any, axis: int) -> Any:
    """One tensor or mask alone."""
    if isinstance(item, _Array):
        return gather(b, x, item.at, axis)
    assert isinstance(item, _Mask)
    _check_mask(b, x, item, axis)
    if item.rank == 0:
        x = unsqueeze(b, x, (axis,))
        return emit1(b, "Compress", (x, unsqueeze(b, item.at, (0,))), axis=axis)
    if item.rank == 1 or (item.rank is None and axis != 0):
        # Compress itself refuses a mask of another rank than one.
        return emit1(b, "Compress", (x, item.at), axis=axis)
    # NonZero, Transpose and GatherND need no rank.
    rows = emit1(b, "Transpose", (emit1(b, "NonZero", (item.at,)),))
    if axis == 0:
        return emit1(b, "GatherND", (x, rows))
    axes = list(range(axis, axis + (item.rank or 1)))
    x, rest = _bring_to_front(b, x, axes)
    return _move_axes(b, emit1(b, "GatherND", (x, rows)), 1, axis, rest)


def _check_mask(b: Backend[Any], x: Any, item: _Mask, axis: int) -> None:
    shape, mask = shape_of(b, x), shape_of(b, item.at)
    if shape is None or mask is None or axis < 0:
        return
    for n, size in enumerate(mask):
        have = shape[axis + n]
        if isinstance(size, int) and isinstance(have, int) and size != have:
            advice = f"the mask must have {have} elements along axis {axis + n}"
            what = f"a mask of {size} elements"
            fail(messages.BadIndex(what=what, advice=advice, span=b.here()))


def _index_rows(
    b: Backend[Any], chosen: list[tuple[int, Any, int]]
) -> tuple[list[tuple[Any, int | None]], list[int]]:
    """Each index as (value, rank), a mask as one row an axis; and the axes they stand for."""
    rows: list[tuple[Any, int | None]] = []
    axes: list[int] = []
    for _, item, axis in chosen:
        if isinstance(item, _Mask):
            if item.rank == 0:
                advice = "use a mask of rank one or more beside other indices"
                fail(messages.BadIndex(what="a scalar mask", advice=advice, span=b.here()))
            nonzero = emit1(b, "NonZero", (item.at,))
            if item.rank is None:
                # Squeeze refuses, when the model runs, a mask of another rank than one.
                rows.append((squeeze(b, nonzero, (0,)), 1))
                axes.append(axis)
                continue
            for n in range(item.rank):
                rows.append((gather(b, nonzero, int_constant(b, n)), 1))
                axes.append(axis + n)
        elif isinstance(item, _Int):
            value = int_constant(b, item.at) if isinstance(item.at, int) else item.at
            rows.append((cast(b, value, DType.INT64), 0))
            axes.append(axis)
        else:
            rows.append((cast(b, item.at, DType.INT64), item.rank))
            axes.append(axis)
    return rows, axes


def _same_shape(
    b: Backend[Any], rows: list[tuple[Any, int | None]]
) -> tuple[list[Any], int | None]:
    """The indices broadcast to one shape, and its rank where known."""
    ranks = [rank for _, rank in rows if rank is not None]
    width = max(ranks) if len(ranks) == len(rows) else None
    shapes = [shape_of(b, v) for v, _ in rows]
    if all(s is not None and s == shapes[0] and None not in s for s in shapes):
        return [v for v, _ in rows], width
    zeros = None
    for v, _ in rows:
        zero = emit1(b, "Sub", (v, v))
        zeros = zero if zeros is None else emit1(b, "Add", (zeros, zero))
    return [emit1(b, "Add", (v, zeros)) for v, _ in rows], width


def _bring_to_front(b: Backend[Any], x: Any, axes: list[int]) -> tuple[Any, int | None]:
    """`x` with the indexed axes first, and how many others there are (None where unknown)."""
    rank = rank_of(b, x)
    if axes == list(range(len(axes))):
        return x, None if rank is None else rank - len(axes)
    if rank is None:
        fail(messages.UnknownRank(what="indexing inner axes with several tensors", span=b.here()))
    axes = [a % rank for a in axes]
    rest = [a for a in range(rank) if a not in axes]
    return emit1(b, "Transpose", (x,), perm=[*axes, *rest]), len(rest)


def _move_axes(b: Backend[Any], x: Any, width: int, where: int, rest: int | None) -> Any:
    """The first `width` axes moved to stand at `where`."""
    assert rest is not None
    where = where % (rest + width) if where < 0 else where
    order = [*range(width, width + where), *range(width), *range(width + where, width + rest)]
    return emit1(b, "Transpose", (x,), perm=order)
