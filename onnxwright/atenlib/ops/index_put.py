"""Functions that write elements by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.helpers.constants import scalar, shape_vector
from onnxwright.atenlib.helpers.index_positions import (
    as_index,
    clamped,
    is_mask,
    layout_of,
    nonzero_matrix,
    positions_of,
    stacked,
)
from onnxwright.atenlib.helpers.scatter import along, into, scatter_elements, scatter_nd
from onnxwright.atenlib.helpers.shape import (
    expand_to,
    expand_together,
    flat,
    inverse_order,
    permute,
)
from onnxwright.atenlib.helpers.sizes import numel, size, sizes, sizes_with
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.indexing import mask_of
from onnxwright.atenlib.optest import OpTest, Skip, Tol
from onnxwright.atenlib.protocols import Op, Value


@aten(
    "aten::index_put",
    "aten::index_put.hacked_twin",
    "aten::_unsafe_index_put",
    "aten::_unsafe_index_put.hacked_twin",
    "aten::_index_put_impl",
    rule=into("values"),
    complex="parts",
)
def index_put(
    op: Op,
    self: Value,
    indices: Sequence[Value | None] | Sequence[Value],
    values: Value,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Any:
    """The tensor with values written, or added, at index tensors and masks."""
    del unsafe  # which checks of indices torch leaves out
    indexed = [(n, i) for n, i in enumerate(indices) if i is not None]
    if not indexed:
        return _added(op, self, values) if accumulate else expand_to(op, values, sizes(op, self))
    if len(indexed) == 1 and is_mask(indexed[0][1]):
        written = _where_mask(op, self, *indexed[0], values, accumulate)
        if written is not None:
            return written
    positions = positions_of(op, indices)
    reduction = "add" if accumulate else "none"
    if len(positions) == 1 and positions[0][0] > 0 and positions[0][1].rank == 1:
        return _put_slices(op, self, *positions[0], values, reduction)
    layout = layout_of([axis for axis, _ in positions], self.rank)
    index = stacked(op, [p for _, p in positions])
    index_rank = index.rank - 1
    result_order = layout.result_order(index_rank, self.rank)
    turned = permute(op, self, layout.order)
    shape = [*sizes(op, index)[:-1], *sizes(op, turned)[layout.count :]]
    lengths = [shape[a] for a in result_order]
    updates = permute(op, expand_to(op, values, lengths), inverse_order(result_order))
    written = scatter_nd(op, turned, index, updates, reduction)
    return permute(op, written, inverse_order(layout.order))


def _put_slices(op: Op, x: Value, axis: int, row: Value, values: Value, reduction: str) -> Any:
    """A write at positions of one axis that is not the first: no axis has to be moved."""
    updates = expand_to(op, values, sizes_with(op, x, axis, size(op, row, 0)))
    return scatter_elements(op, x, along(op, row, updates, axis), updates, axis, reduction)


def _added(op: Op, x: Value, y: Value) -> Value:
    return op.Or(x, y) if x.onnx_dtype.is_bool else op.Add(x, y)


def _where_mask(
    op: Op, x: Value, axis: int, mask: Value, values: Value, accumulate: bool
) -> Value | None:
    """A write through one mask as a choice, where what is written is the same for each of its
    places; else None.
    """
    rest = x.rank - axis - mask.rank
    if axis == 0 and values.rank == rest + 1 and values.shape[0] == 1:
        values = op.Squeeze(values, [0])
    elif values.rank and all(d == 1 for d in values.shape):
        values = op.Squeeze(values)
    elif values.rank > (rest if axis == 0 else 0):
        return None
    chosen = mask_of(op, mask)
    if rest:
        chosen = op.Unsqueeze(chosen, list(range(mask.rank, mask.rank + rest)))
    return op.Where(chosen, _added(op, x, values) if accumulate else values, x)


@aten(
    "aten::_unsafe_masked_index_put_accumulate",
    rule=into("values"),
    complex="parts",
    tests=[
        OpTest(
            "_unsafe_masked_index_put_accumulate",
            # torch rounds each partial sum of some twenty numbers, ours only the last.
            tol={"float16": Tol(3e-3, 1e-1), "bfloat16": Tol(3e-2, 1.0)},
            skip=[
                Skip(
                    "torch rounds each of a hundred partial sums",
                    dtypes=("float16", "bfloat16"),
                    modes=("dynamic",),
                )
            ],
        )
    ],
)
def unsafe_masked_index_put_accumulate(
    op: Op, self: Value, mask: Value, indices: Sequence[Value | None], values: Value
) -> Any:
    """The tensor with values added at indices where a mask is true."""
    within = [i if i is None else clamped(op, self, n, i) for n, i in enumerate(indices)]
    nothing = scalar(op, 0, self.onnx_dtype)
    return index_put.body(op, self, within, op.Where(mask_of(op, mask), values, nothing), True)


@aten("aten::put", rule=into("source"), complex="parts")
def put(op: Op, self: Value, index: Value, source: Value, accumulate: bool = False) -> Value:
    """The tensor with elements written, or added, by their number over the whole tensor."""
    if isinstance(numel(op, index), int) and numel(op, index) == 0:
        return self
    place, updates = flat(op, as_index(op, index)), flat(op, source)
    written = scatter_elements(
        op, flat(op, self), place, updates, 0, "add" if accumulate else "none"
    )
    return written if self.rank == 1 else op.Reshape(written, shape_vector(op, self), allowzero=1)


@aten("aten::masked_scatter", rule=into("source"), complex="parts")  # fmt: skip
def masked_scatter(op: Op, self: Value, mask: Value, source: Value) -> Value:
    """The elements of `source`, in order, written where a mask is true."""
    scalar_given = self.rank == 0 and mask.rank == 0
    self, chosen = expand_together(op, [self, mask_of(op, mask)])
    if scalar_given:
        self, chosen = op.Unsqueeze(self, [0]), op.Unsqueeze(chosen, [0])
    index = nonzero_matrix(op, chosen)
    count = op.Shape(index, start=0, end=1)
    written = scatter_nd(op, self, index, op.Slice(flat(op, source), [0], count))
    return op.Squeeze(written, [0]) if scalar_given else written
