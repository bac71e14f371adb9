"""Embedding tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, full_like, scalar
from onnxwright.atenlib.helpers.index_positions import as_index
from onnxwright.atenlib.helpers.scatter import scatter_nd
from onnxwright.atenlib.helpers.shape import flat
from onnxwright.atenlib.helpers.sizes import arithmetic, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Skip, Tol
from onnxwright.atenlib.protocols import Op, Size, Value, is_value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType


@aten("aten::embedding", rule=like("weight"), complex="parts",
      tests=[OpTest("nn.functional.embedding")])  # fmt: skip
def embedding(
    op: Op,
    weight: Value,
    indices: Value,
    padding_idx: Size = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    """Rows of a table; `padding_idx` is about gradients only."""
    return op.Gather(weight, as_index(op, indices))


@aten("aten::one_hot", rule=custom(lambda _: DType.INT64), tests=[OpTest("nn.functional.one_hot")])
def one_hot(op: Op, self: Value, num_classes: int | Value = -1) -> Value:
    """A 1 at the place that a number says, in a new last dimension."""
    index = cast(op, self, DType.INT64)
    if not is_value(num_classes) and num_classes == -1:
        depth = op.Add(op.ReduceMax(index, keepdims=0), 1)
    else:
        depth = scalar(op, num_classes, DType.INT64)
    row = index if index.rank else op.Unsqueeze(index, [0])
    marks = op.OneHot(row, depth, op.constant(np.array([0, 1])))
    return marks if index.rank else op.Squeeze(marks, [0])


@aten("aten::embedding_renorm", rule=like(), tests=[OpTest("nn.functional.embedding")])
def embedding_renorm(
    op: Op, self: Value, indices: Value, max_norm: float, norm_type: float
) -> Value:
    """The rows of a table that are used made shorter where their norm is above a limit."""
    dtype = self.onnx_dtype
    row = flat(op, as_index(op, indices))
    used = op.ScatterElements(
        full(op, [size(op, self, 0)], False, DType.BOOL), row, full_like(op, row, True, DType.BOOL)
    )
    norms = _row_norms(op, self, norm_type)
    limit = scalar(op, max_norm, dtype)
    # torch's own guard against division by nothing
    scale = op.Div(limit, op.Add(norms, scalar(op, 1e-7, dtype)))
    long = op.And(op.Unsqueeze(used, [1]), op.Greater(norms, limit))
    return op.Where(long, op.Mul(self, scale), self)


def _row_norms(op: Op, x: Value, p: float) -> Value:
    axes = op.constant(np.array([1]))
    if p == 1:
        return op.ReduceL1(x, axes, keepdims=1)
    if p == 2:
        return op.ReduceL2(x, axes, keepdims=1)
    if p == np.inf:
        return op.ReduceMax(op.Abs(x), axes, keepdims=1)
    total = op.ReduceSum(op.Pow(op.Abs(x), p), axes, keepdims=1)
    return op.Pow(total, 1 / p)


# torch rounds each partial sum, and the scale of a row that is made shorter.
_HALF = {"float16": Tol(1e-2, 1e-2), "bfloat16": Tol(5e-2, 5e-2)}
_BAG = (
    OpTest(
        "nn.functional.embedding_bag",
        tol=_HALF,
        skip=[
            Skip(
                "offsets that are repeated do not ascend: torch reads beside its memory",
                matcher=lambda s: s.kwargs.get("offsets") is not None,
                modes=("dynamic",),
            )
        ],
    ),
)
_SUM, _MEAN, _MAX = range(3)


@aten("aten::embedding_bag", "aten::embedding_bag.padding_idx", rule=like("weight"), tests=_BAG)
def embedding_bag(
    op: Op,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Any, None, None, None]:
    """Sums, means or maxima of bags of rows of a table, those of `padding_idx` left out.

    Only the first result is for inference.
    """
    bags = _bags(op, indices, offsets, include_last_offset)
    rows = op.Gather(weight, as_index(op, indices))
    kept = None
    if padding_idx is not None:
        # An index from the end is the same row.
        padding = (
            arithmetic(op, "Add", size(op, weight, 0), padding_idx)
            if padding_idx < 0
            else (padding_idx)
        )
        kept = op.Not(op.Equal(as_index(op, indices), padding))
    return _pooled(op, rows, bags, kept, mode, per_sample_weights)


@aten(
    "aten::_embedding_bag",
    "aten::_embedding_bag_forward_only",
    rule=like("weight"),
    untested="tests/atenlib/test_embedding.py",
)
def embedding_bag_core(
    op: Op,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """As `embedding_bag`; rows of `padding_idx` are left out; -1 leaves out no row."""
    return embedding_bag.body(
        op,
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        None if padding_idx < 0 else padding_idx,
    )


def _bags(op: Op, indices: Any, offsets: Any, include_last: bool) -> tuple[Any, Any]:
    """The number of the bag that each index is in, and how many bags there are.

    Indices behind the last offset of `include_last`, or of no bag at all, have the number of one
    more bag, or -1.
    """
    starts = cast(op, offsets, DType.INT64)
    count = size(op, offsets, 0)
    if include_last:
        count = arithmetic(op, "Sub", count, 1)
    length = size(op, indices, 0)
    # Bags may be empty, so that several start at one place, maybe behind the last index.
    marks = full(op, [arithmetic(op, "Add", length, 1)], 0, DType.INT64)
    begun = op.ScatterElements(marks, starts, full_like(op, starts, 1), reduction="add")
    number = op.Sub(op.CumSum(begun, 0), 1)
    return op.Slice(number, [0], [-1], [0]), count


def _pooled(
    op: Op, rows: Value, bags: tuple[Any, Any], kept: Any, mode: int, weights: Any
) -> tuple[Any, None, None, None]:
    """The rows of each bag combined."""
    number, count = bags
    dtype = rows.onnx_dtype
    if weights is not None:
        rows = op.Mul(rows, op.Unsqueeze(weights, [1]))
    # Rows that do not count, or are in no bag, go to one more bag, which is dropped.
    if kept is not None:
        number = op.Where(kept, number, scalar(op, count, DType.INT64))
    places = op.Unsqueeze(flat(op, number), [1])
    bins = arithmetic(op, "Add", count, 1)
    lowest = -np.inf if mode == _MAX else 0
    start = full(op, [bins, size(op, rows, 1)], lowest, dtype)
    pooled = scatter_nd(op, start, places, rows, "max" if mode == _MAX else "add")
    if mode != _SUM:
        ones = full_like(op, number, 1, DType.INT64)
        sizes = scatter_nd(op, full(op, [bins], 0, DType.INT64), places, ones, "add")
        column = op.Unsqueeze(sizes, [1])
        if mode == _MEAN:
            pooled = op.Div(pooled, cast(op, op.Max(column, 1), dtype))
        else:
            pooled = op.Where(op.Equal(column, 0), scalar(op, 0, dtype), pooled)
    pooled = op.Slice(pooled, [0], [-1], [0])
    # What follows in torch are notes for the gradient.
    return pooled, None, None, None
