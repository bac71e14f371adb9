"""What is between the brackets of `x[...]`, read into a list of items: one for each axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.backend import Backend, Promotable, V, is_value
from onnxwright.semantics.literals import (
    array_of,
    as_value,
    cast,
    describe,
    dtype_of,
    is_number_like,
    own_array,
    rank_of,
)
from onnxwright.types.dtypes import DType

# Beyond any axis; not the largest number, which ONNX Runtime reads as "to the end" either way.
FAR = 1 << 62


@dataclass(frozen=True)
class SliceItem(Generic[V]):
    """A slice: its axis stays."""

    start: int | V | None
    stop: int | V | None
    step: int | V | None


@dataclass(frozen=True)
class IntItem(Generic[V]):
    """A static int or a scalar value: removes its axis."""

    at: int | V


@dataclass(frozen=True)
class ArrayItem(Generic[V]):
    """An integer tensor of rank one or more (or unknown): replaces its axis."""

    at: V
    rank: int | None


@dataclass(frozen=True)
class MaskItem(Generic[V]):
    """A BOOL tensor: selects along as many axes as it has."""

    at: V
    rank: int | None


@dataclass(frozen=True)
class NewAxisItem:
    """None: a new axis of size one."""


Item: TypeAlias = SliceItem[V] | IntItem[V] | ArrayItem[V] | MaskItem[V] | NewAxisItem


def read_index(b: Backend[V], x: V, index: object) -> tuple[list[Item[V]], int]:
    """The items without the ellipsis, and how many precede it."""
    raw = list(index) if isinstance(index, tuple) else [index]
    items: list[Item[V]] = []
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
    used = sum(axis_count(i) for i in items if not isinstance(i, NewAxisItem))
    if rank is not None and used > rank:
        fail(messages.TooManyIndices(count=used, rank=rank, span=b.here()))
    return items, len(items) if split is None else split


def is_view_part(part: object) -> bool:
    """Whether numpy makes a view of `x[part]`: an integer, a slice, a new axis, no array."""
    if is_value(part):
        return getattr(part, "rank", None) in (0, None)
    if isinstance(part, bool):
        return False
    kinds = (int, np.integer, slice, type(Ellipsis), Promotable)
    return part is None or isinstance(part, kinds)


def axis_count(item: Item[V]) -> int:
    """How many axes an item is about."""
    # A new axis counts as the axis it makes; a mask of unknown rank is taken to index one axis,
    # unless it is the only one.
    return item.rank if isinstance(item, MaskItem) and item.rank is not None else 1


def _item(b: Backend[V], part: object) -> Item[V]:
    if part is None:
        return NewAxisItem()
    if isinstance(part, slice):
        start, stop = slice_bound(b, part.start), slice_bound(b, part.stop)
        step = slice_bound(b, part.step)
        return SliceItem(start, stop, step)
    if isinstance(part, (bool, np.bool_)):
        return MaskItem(b.constant(np.array(bool(part))), 0)
    if isinstance(part, (int, np.integer)):
        return IntItem(int(part))
    array = own_array(part)
    if array is None and isinstance(part, (list, tuple, range)):
        if len(part) == 0:
            array = np.zeros((0,), np.int64)
        elif is_number_like(part):
            array = array_of(b, part)
    if array is not None:
        part = b.constant(array if array.dtype == np.bool_ else as_int_index(b, array))
    elif isinstance(part, (list, tuple)):
        part = as_value(b, part)
    if not is_value(part):
        advice = "index with integers, slices, `...`, `None`, integer tensors or a BOOL mask"
        fail(messages.BadIndex(what=describe(part), advice=advice, span=b.here()))
    return _tensor_item(b, part)


def as_int_index(b: Backend[V], array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of indices as INT64; an error for one that is not of integers."""
    if array.dtype.kind not in "iu":
        advice = "index with integers; cast the array to int64"
        fail(messages.BadIndex(what=f"a {array.dtype} array", advice=advice, span=b.here()))
    return array.astype(np.int64)


def _tensor_item(b: Backend[V], part: V) -> Item[V]:
    part = b.as_weak(part, None)
    dtype, rank = dtype_of(b, part), rank_of(b, part)
    if dtype is DType.BOOL:
        return MaskItem(part, rank)
    if dtype is not None and not dtype.is_integer:
        advice = "index with INT64 or INT32 tensors; cast with `op.Cast(i, to=INT64)`"
        fail(messages.BadIndex(what=f"a {dtype.name} tensor", advice=advice, span=b.here()))
    if dtype not in (None, DType.INT32, DType.INT64):
        part = cast(b, part, DType.INT64)
    index_array = b.constant_value(part)
    if rank == 0:
        return IntItem(int(index_array) if index_array is not None else part)
    return ArrayItem(part, rank)


def slice_bound(b: Backend[V], v: object) -> int | V | None:
    """A bound of a slice: None, a Python int, or a value."""
    if v is None or (isinstance(v, (int, np.integer)) and not isinstance(v, bool)):
        # Beyond any axis is beyond any axis, also past 64 bits.
        return None if v is None else max(-FAR, min(int(v), FAR))
    if is_value(v):
        dtype = dtype_of(b, v)
        if dtype is not None and not dtype.is_integer:
            advice = "a slice takes integers; cast with `op.Cast(i, to=INT64)`"
            fail(messages.BadIndex(what=f"a {dtype.name} tensor", advice=advice, span=b.here()))
        number = b.constant_value(v)
        if number is not None and number.size == 1:
            return int(number.reshape(()))
        bound: V = v
        return bound
    array = own_array(v)
    if array is not None and array.size == 1 and array.dtype.kind in "iu":
        return int(array.reshape(()))
    if isinstance(v, (list, tuple)) and len(v) == 1:
        return slice_bound(b, v[0])
    if isinstance(v, Promotable):
        promoted: V = v.as_value(b, DType.INT64)
        return promoted
    advice = "a slice takes integers"
    fail(messages.BadIndex(what=describe(v), advice=advice, span=b.here()))
