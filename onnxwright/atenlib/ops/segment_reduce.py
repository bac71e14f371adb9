"""Reductions of segments: runs of elements along an axis, said by lengths or by offsets."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, iota, scalar, shape_vector
from onnxwright.atenlib.helpers.scatter import scatter_elements
from onnxwright.atenlib.helpers.sizes import arithmetic, axis_of, size, sizes_with
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}
# torch rounds each partial sum, ours is rounded once.
_HALF = {"float16": Tol(5e-3, 3e-2), "bfloat16": Tol(5e-2, 2e-1)}


@aten(
    "aten::segment_reduce",
    rule=like("data"),
    tests=[
        OpTest("_segment_reduce:lengths", tol=_HALF),
        OpTest("_segment_reduce:offsets", tol=_HALF),
    ],
)
def segment_reduce(
    op: Op,
    data: Value,
    reduce: str,
    *,
    lengths: Value | None = None,
    indices: Value | None = None,
    offsets: Value | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Value:
    """Each segment of an axis reduced, starting from `initial`; torch has it without indices."""
    if lengths is None and offsets is None:
        unsupported("segments are given by `lengths` or by `offsets`")
    axis = axis_of(axis, data.rank)
    dtype = data.onnx_dtype
    first, ends, lengths = _limits(op, lengths, offsets, axis)
    count = size(op, ends, axis)
    numbers = _segment_numbers(op, size(op, data, axis), first, ends, count)
    if data.rank > axis + 1:
        numbers = op.Unsqueeze(numbers, list(range(axis + 1, data.rank)))
    index = op.Expand(numbers, shape_vector(op, data))
    # What is in no segment goes to one more, which is dropped.
    start = _START[reduce] if initial is None else float(initial)
    bins = full(op, sizes_with(op, data, axis, arithmetic(op, "Add", count, 1)), start, dtype)
    reduced = scatter_elements(op, bins, index, data, axis, _REDUCTIONS[reduce])
    reduced = op.Slice(reduced, [0], [-1], [axis])
    if reduce != "mean":
        return reduced
    column = lengths
    if data.rank > axis + 1:
        column = op.Unsqueeze(lengths, list(range(axis + 1, data.rank)))
    mean = op.Div(reduced, cast(op, op.Max(column, 1), dtype))
    if initial is not None:
        return mean
    return op.Where(op.Equal(column, 0), scalar(op, np.nan, dtype), mean)


def _limits(
    op: Op, lengths: Value | None, offsets: Value | None, axis: int
) -> tuple[Any, Any, Any]:
    """The first position that is in a segment, the ends of segments, and their lengths."""
    if offsets is None:
        assert lengths is not None  # torch refuses a call with neither
        lengths = cast(op, lengths, DType.INT64)
        return None, op.CumSum(lengths, axis), lengths
    offsets = cast(op, offsets, DType.INT64)
    starts = op.Slice(offsets, [0], [-1], [axis])
    ends = op.Slice(offsets, [1], [2**63 - 1], [axis])
    return op.Slice(offsets, [0], [1], [axis]), ends, op.Sub(ends, starts)


def _segment_numbers(op: Op, length: Size, first: Value | None, ends: Any, count: Size) -> Value:
    """The number of the segment that each position is in, `count` where it is in none."""
    positions = iota(op, length)
    over = op.LessOrEqual(op.Unsqueeze(ends, [-2]), op.Unsqueeze(positions, [1]))
    axes = op.constant(np.array([ends.rank]))
    numbers = op.ReduceSum(cast(op, over, DType.INT64), axes, keepdims=0)
    if first is None:
        return numbers
    return op.Where(op.Less(positions, first), scalar(op, count, DType.INT64), numbers)
