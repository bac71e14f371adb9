"""Functions whose views overlap or jump: as_strided and unfold.

A strided view is read from the elements of a contiguous tensor: strides that torch keeps beside a
tensor say nothing about its values, and a graph has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import iota, shape_vector
from onnxwright.atenlib.helpers.shape import flat, on_axis, permute, reshape
from onnxwright.atenlib.helpers.sizes import arithmetic, axis_of, size, static
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like

# Index tensors up to this many elements are constants, longer ones are computed by the graph.
_SMALL = 4096

_PARTIAL = OpTest(
    "as_strided:partial_views",
    xfail=[
        XFail(
            "the view is of memory that is not of the tensor given",
            matcher=lambda s: s.kwargs.get("storage_offset", 0) > 0,
        ),
        # Where sizes are symbolic, the tensor is made anew, without memory in front of it.
        XFail(
            "the view is of memory that is not of the tensor given",
            matcher=lambda s: s.kwargs.get("storage_offset") == 0,
            modes=("eager", "graph"),
        ),
    ],
)


def strided_index(op: Op, sizes: Sequence[Size], strides: Sequence[Size], offset: Any) -> Value:
    """The positions in memory of the elements of a strided view, of the view's shape."""
    if static(sizes) and static(strides) and static([offset]) and math.prod(sizes) <= _SMALL:
        index = np.full((), offset, np.int64)
        for n, apart in zip(sizes, strides, strict=True):
            index = index[..., None] + np.arange(n) * apart
        return op.constant(index.reshape(tuple(sizes)))
    indices = offset if not isinstance(offset, int) else op.constant(np.array(offset, np.int64))
    for axis, length in enumerate(sizes):
        steps = op.Mul(iota(op, length), strides[axis])
        indices = op.Add(indices, on_axis(op, steps, axis, len(sizes)))
    return indices


@aten(
    "aten::as_strided",
    "aten::as_strided_copy",
    rule=like(),
    complex="parts",
    tests=[OpTest("as_strided"), _PARTIAL, OpTest("as_strided_copy")],
)
def as_strided(
    op: Op,
    self: Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> Value:
    """Elements read from a contiguous tensor with sizes, strides and an offset of one's own."""
    index = strided_index(op, size, stride, 0 if storage_offset is None else storage_offset)
    return op.Gather(flat(op, self), index)


@aten("aten::as_strided_scatter", rule=like(), complex="parts")  # fmt: skip
def as_strided_scatter(
    op: Op,
    self: Value,
    src: Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> Value:
    """The tensor with a strided view of it replaced by `src`."""
    index = strided_index(op, size, stride, 0 if storage_offset is None else storage_offset)
    source = flat(op, src)
    written = op.ScatterElements(flat(op, self), flat(op, index), source)
    if self.rank == 1:
        return written
    return op.Reshape(written, shape_vector(op, self), allowzero=1)


@aten("aten::unfold", "aten::unfold_copy", rule=like(), complex="parts",
      tests=[OpTest("unfold"), OpTest("unfold_copy")])  # fmt: skip
def unfold(op: Op, self: Value, dimension: int, size: int, step: int) -> Value:
    """Windows of `size` elements, `step` apart, along a dimension; they come last."""
    if self.rank == 0:
        return reshape(op, self, [1]) if size else op.Slice(reshape(op, self, [1]), [0], [0])
    axis = axis_of(dimension, self.rank)
    windows = _window_count(op, self, axis, size, step)
    inside = op.constant(np.arange(size))
    starts = op.Mul(iota(op, windows), step)
    taken = op.Gather(self, op.Add(op.Unsqueeze(starts, [1]), inside), axis=axis)
    order = [a for a in range(self.rank + 1) if a != axis + 1]
    return permute(op, taken, [*order, axis + 1])


def _window_count(op: Op, x: Value, axis: int, length: int, step: int) -> Size:
    room = arithmetic(op, "Sub", size(op, x, axis), length)
    return arithmetic(op, "Add", arithmetic(op, "Div", room, step), 1)
