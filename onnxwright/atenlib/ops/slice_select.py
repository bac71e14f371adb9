"""Functions that read and write slices."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.helpers.constants import cast, iota, scalar, vector
from onnxwright.atenlib.helpers.scatter import along, into, scatter_elements, scatter_nd
from onnxwright.atenlib.helpers.shape import reaches, slice_axis
from onnxwright.atenlib.helpers.sizes import arithmetic, axis_of, is_known_zero, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value, is_value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


@aten(
    "aten::slice.Tensor",
    "aten::slice_copy.Tensor",
    rule=like(),
    complex="parts",
    tests=[OpTest("slice"), OpTest("__getitem__")],
)
def slice_(
    op: Op,
    self: Value,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> Value:
    """The elements from `start` to `end`, `step` apart, along a dimension."""
    return slice_axis(op, self, axis_of(dim, self.rank), start, end, step)


@aten("aten::select.int", "aten::select_copy.int", rule=like(), complex="parts")  # fmt: skip
def select(op: Op, self: Value, dim: int, index: Size) -> Value:
    """One slice along a dimension, without it."""
    if is_value(index):
        index = scalar(op, index, DType.INT64)
    return op.Gather(self, index, axis=axis_of(dim, self.rank))


@aten("aten::narrow", "aten::narrow_copy", rule=like(), complex="parts",
      tests=[OpTest("narrow"), OpTest("narrow_copy")])  # fmt: skip
def narrow(op: Op, self: Value, dim: int, start: Size, length: Size) -> Value:
    """`length` elements from `start` on along a dimension."""
    axis = axis_of(dim, self.rank)
    if isinstance(start, int) and start < 0:
        start = arithmetic(op, "Add", size(op, self, axis), start)
    return slice_axis(op, self, axis, start, arithmetic(op, "Add", start, length))


@aten("aten::narrow.Tensor", rule=like(), complex="parts")
def narrow_tensor(op: Op, self: Value, dim: int, start: Value, length: Size) -> Value:
    """`length` elements from `start`, an element of a tensor, on along a dimension."""
    axis = axis_of(dim, self.rank)
    from_ = op.Squeeze(cast(op, start, DType.INT64)) if start.rank else cast(op, start, DType.INT64)
    positions = op.Add(iota(op, length), from_)
    return op.Gather(self, positions, axis=axis)


@aten("aten::slice_scatter", rule=into("src"), complex="parts")
def slice_scatter(
    op: Op,
    self: Value,
    src: Value,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> Any:
    """The tensor with a slice of it replaced by `src`."""
    axis = axis_of(dim, self.rank)
    whole = self.shape[axis]
    start, end = 0 if start is None else start, 2**63 - 1 if end is None else end
    is_certain = isinstance(whole, int) and isinstance(start, int) and isinstance(end, int)
    if isinstance(whole, int) and is_certain and isinstance(step, int):
        start, end, _ = slice(start, end, step).indices(whole)
        if step == 1:
            return _replaced(op, self, src, axis, start, max(start, end))
    elif isinstance(step, int) and step == 1 and _ordered(start, end):
        return _replaced(op, self, src, axis, start, end)
    every = iota(op, size(op, self, axis))
    index = slice_axis(op, every, 0, start, end, step)
    return scatter_elements(op, self, along(op, index, src, axis), src, axis)


def _ordered(start: Any, end: Any) -> bool:
    """Whether a slice is known not to end before it starts, whatever the size is."""
    if not (isinstance(start, int) and isinstance(end, int)):
        return is_known_zero(start)
    return start <= end and (start >= 0) == (end >= 0)


def _replaced(op: Op, x: Value, src: Value, axis: int, start: Any, end: Any) -> Value:
    whole = x.shape[axis]
    parts = [src]
    if not is_known_zero(start):
        parts.insert(0, slice_axis(op, x, axis, 0, start))
    if not reaches(end, whole):
        parts.append(slice_axis(op, x, axis, end, None))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=axis)


@aten("aten::select_scatter", rule=into("src"), complex="parts")
def select_scatter(op: Op, self: Value, src: Value, dim: int, index: Size) -> Any:
    """The tensor with one slice along a dimension replaced by `src`."""
    axis = axis_of(dim, self.rank)
    source = op.Unsqueeze(src, [axis])
    whole = self.shape[axis]
    if isinstance(whole, int) and isinstance(index, int):
        place = index % whole
        return _replaced(op, self, source, axis, place, place + 1)
    position = vector(op, [index])
    if axis == 0:
        return scatter_nd(op, self, op.Unsqueeze(position, [0]), source)
    return scatter_elements(op, self, along(op, position, source, axis), source, axis)
