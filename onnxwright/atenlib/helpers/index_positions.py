"""Advanced indexing: index tensors and masks as positions, and elements read at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import cast
from onnxwright.atenlib.helpers.shape import axes_first, expand_together, inverse_order, permute
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.types.dtypes import DType


def as_index(op: Op, index: Value) -> Value:
    """An index tensor in a type that indexing operators take."""
    return index if index.onnx_dtype is DType.INT32 else cast(op, index, DType.INT64)


def is_mask(index: Value) -> bool:
    """Whether an index tensor is a mask (BOOL, or UINT8 as torch reads it)."""
    return index.onnx_dtype in (DType.BOOL, DType.UINT8)


def truth(op: Op, x: Value) -> Value:
    """A value, or a `Complex`, as BOOL: what is not zero."""
    if isinstance(x, Complex):
        return op.Or(truth(op, x.real), truth(op, x.imag))
    return cast(op, x, DType.BOOL)


def nonzero_rows(op: Op, x: Value) -> list[Any]:
    """The positions of what is not zero, one INT64 vector for each dimension (at least one)."""
    marks = truth(op, x)
    if marks.rank == 0:
        marks = op.Unsqueeze(marks, [0])
    coordinates = op.NonZero(marks)
    return [op.Gather(coordinates, i, axis=0) for i in range(marks.rank)]


def nonzero_matrix(op: Op, x: Value) -> Value:
    """The positions of what is not zero, as rows."""
    marks = truth(op, x)
    if marks.rank == 0:
        count = op.Unsqueeze(cast(op, marks, DType.INT64), [0])
        shape = op.Concat(count, op.constant(np.array([0])), axis=0)
        return op.Expand(op.constant(np.zeros((1, 0), np.int64)), shape)
    return op.Transpose(op.NonZero(marks), perm=[1, 0])


def positions_of(op: Op, indices: Sequence[Value | None]) -> list[tuple[int, Any]]:
    """Index tensors with the axes they are for; masks become the positions of what is true.

    Args:
        indices: index tensors, masks (for as many axes as they have), and None for whole axes.

    Returns:
        Pairs of an axis and an INT64 or INT32 value.
    """
    positions: list[tuple[int, Any]] = []
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
        elif is_mask(index):
            rows = nonzero_rows(op, index)
            positions.extend((axis + n, row) for n, row in enumerate(rows))
            axis += len(rows)
        else:
            positions.append((axis, index))
            axis += 1
    return positions


def compress(op: Op, x: Value, marks: Value, axis: int | None = None) -> Value:
    """The slices of an axis whose mark is true; BFLOAT16, which Compress does not take, by FLOAT.

    Args:
        marks: a BOOL vector.
        axis: the axis; all elements in one dimension without it.

    Returns:
        The slices, in order.
    """
    if x.onnx_dtype is DType.BFLOAT16:
        wide = op.Compress(op.Cast(x, to=DType.FLOAT), marks, axis=axis)
        return op.Cast(wide, to=DType.BFLOAT16)
    return op.Compress(x, marks, axis=axis)


def clamped(op: Op, x: Value, axis: int, index: Value) -> Value:
    """An index with what lies outside of an axis brought to its ends."""
    length = size(op, x, axis)
    low = -length if isinstance(length, int) else op.Neg(length)
    high = length - 1 if isinstance(length, int) else op.Sub(length, 1)
    return op.Max(op.Min(cast(op, index, DType.INT64), high), low)


@dataclass(frozen=True)
class Layout:
    """How a tensor is turned for several indices at once.

    Fields:
        order: its axes with the indexed ones first.
        lead: how many axes stay before the indices in the result, as torch lays it out.
        count: how many axes are indexed.
    """

    order: list[int]
    lead: int
    count: int

    def result_order(self, index_rank: int, rank: int) -> list[int]:
        """The order that brings `[index dims, other dims]` to torch's layout."""
        lead = list(range(index_rank, index_rank + self.lead))
        rest = list(range(index_rank + self.lead, index_rank + rank - self.count))
        return [*lead, *range(index_rank), *rest]


def layout_of(axes: Sequence[int], rank: int) -> Layout:
    """The layout for indexed axes: the index dimensions of the result replace the adjacent axes."""
    adjacent = list(axes) == list(range(axes[0], axes[0] + len(axes)))
    return Layout(axes_first(axes, rank), axes[0] if adjacent else 0, len(axes))


def stacked(op: Op, positions: Sequence[Any]) -> Value:
    """Positions broadcast together, as rows of one index for GatherND and ScatterND."""
    together = expand_together(op, [cast(op, p, DType.INT64) for p in positions])
    columns = [op.Unsqueeze(p, [p.rank]) for p in together]
    return columns[0] if len(columns) == 1 else op.Concat(*columns, axis=-1)


def gather_at(op: Op, x: Value, indexed_axes: Sequence[tuple[int, Any]]) -> Value:
    """Elements at positions of several axes.

    Args:
        indexed_axes: two or more pairs of an axis and positions that broadcast together.

    Returns:
        The elements, in torch's layout.
    """
    axes = [axis for axis, _ in indexed_axes]
    positions = [position for _, position in indexed_axes]
    layout = layout_of(axes, x.rank)
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    outer = _outer(positions) if adjacent else None
    if outer is not None:
        return _gather_outer(op, x, axes[0], positions, outer)
    index = stacked(op, positions)
    taken = op.GatherND(permute(op, x, layout.order), index)
    return permute(op, taken, layout.result_order(index.rank - 1, x.rank))


def _outer(positions: Sequence[Any]) -> list[list[int]] | None:
    """For positions that make a grid, the grid's axes that each of them runs along, in order."""
    rank = max(p.rank for p in positions)
    claims = []
    for p in positions:
        extra = rank - p.rank
        claims.append([extra + n for n, d in enumerate(p.shape) if d != 1])
    return claims if [a for c in claims for a in c] == list(range(rank)) else None


def _gather_outer(
    op: Op, x: Value, axis: int, positions: Sequence[Any], claims: Sequence[Sequence[int]]
) -> Value:
    for p, claim in zip(positions, claims, strict=True):
        ones = [n for n, d in enumerate(p.shape) if d == 1]
        line = op.Squeeze(p, ones) if ones else p
        x = op.Gather(x, as_index(op, line), axis=axis)
        axis += len(claim)
    return x


__all__ = [
    "Layout",
    "as_index",
    "clamped",
    "compress",
    "gather_at",
    "inverse_order",
    "is_mask",
    "layout_of",
    "nonzero_matrix",
    "nonzero_rows",
    "positions_of",
    "stacked",
    "truth",
]
