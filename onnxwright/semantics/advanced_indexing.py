"""Indexing with arrays and masks: the axes they index come first, then Gather or GatherND."""

from __future__ import annotations

from typing import TypeAlias

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.backend import Backend, V
from onnxwright.semantics.index_items import (
    ArrayItem,
    IntItem,
    Item,
    MaskItem,
)
from onnxwright.semantics.literals import (
    cast,
    concat,
    emit1,
    gather,
    int_constant,
    rank_of,
    shape_of,
    squeeze,
    unsqueeze,
)
from onnxwright.types.dtypes import DType

# Items that are indices beside an array or a mask.
AdvancedItem: TypeAlias = IntItem[V] | ArrayItem[V] | MaskItem[V]


def apply_advanced(b: Backend[V], x: V, items: list[Item[V]], axes: list[int], split: int) -> V:
    """Index with integer tensors and masks; integers beside them count as tensors, as in numpy."""
    chosen: list[tuple[int, AdvancedItem[V], int]] = [
        (n, item, axis)
        for n, (item, axis) in enumerate(zip(items, axes, strict=True))
        if isinstance(item, (IntItem, ArrayItem, MaskItem))
    ]
    if len(chosen) == 1:
        return apply_one(b, x, chosen[0][1], chosen[0][2])
    first, last = chosen[0][0], chosen[-1][0]
    adjacent = last - first + 1 == len(chosen) and not first < split <= last
    ranked, at_axes = _index_rows(b, chosen)
    indices, width = _same_shape(b, ranked)
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


def _gather_inner(b: Backend[V], x: V, rows: V, before: int) -> V:
    """Adjacent indices after `before` axes of a tensor of unknown rank: a batched GatherND."""
    whole = emit1(b, "Shape", (x,))
    sizes = [whole, int_constant(b, [0]), int_constant(b, [before]), int_constant(b, [0])]
    batch = emit1(b, "Slice", sizes)
    shape = concat(b, [batch, emit1(b, "Shape", (rows,))], axis=0)
    spread = emit1(b, "Expand", (rows, shape))
    return emit1(b, "GatherND", (x, spread), batch_dims=before)


def apply_one(b: Backend[V], x: V, item: AdvancedItem[V], axis: int) -> V:
    """One tensor or mask alone."""
    if isinstance(item, ArrayItem):
        return gather(b, x, item.at, axis)
    assert isinstance(item, MaskItem)
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


def _check_mask(b: Backend[V], x: V, item: MaskItem[V], axis: int) -> None:
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
    b: Backend[V], chosen: list[tuple[int, AdvancedItem[V], int]]
) -> tuple[list[tuple[V, int | None]], list[int]]:
    """Each index as (value, rank), a mask as one row an axis; and the axes they index."""
    rows: list[tuple[V, int | None]] = []
    axes: list[int] = []
    for _, item, axis in chosen:
        if isinstance(item, MaskItem):
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
        elif isinstance(item, IntItem):
            value = int_constant(b, item.at) if isinstance(item.at, int) else item.at
            rows.append((cast(b, value, DType.INT64), 0))
            axes.append(axis)
        else:
            rows.append((cast(b, item.at, DType.INT64), item.rank))
            axes.append(axis)
    return rows, axes


def _same_shape(b: Backend[V], rows: list[tuple[V, int | None]]) -> tuple[list[V], int | None]:
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


def _bring_to_front(b: Backend[V], x: V, axes: list[int]) -> tuple[V, int | None]:
    """`x` with the indexed axes first, and how many others there are (None where unknown)."""
    rank = rank_of(b, x)
    if axes == list(range(len(axes))):
        return x, None if rank is None else rank - len(axes)
    if rank is None:
        fail(messages.UnknownRank(what="indexing inner axes with several tensors", span=b.here()))
    axes = [a % rank for a in axes]
    rest = [a for a in range(rank) if a not in axes]
    return emit1(b, "Transpose", (x,), perm=[*axes, *rest]), len(rest)


def _move_axes(b: Backend[V], x: V, width: int, where: int, rest: int | None) -> V:
    """The first `width` axes moved to position `where`."""
    assert rest is not None
    where = where % (rest + width) if where < 0 else where
    order = [*range(width, width + where), *range(width), *range(width + where, width + rest)]
    return emit1(b, "Transpose", (x,), perm=order)
