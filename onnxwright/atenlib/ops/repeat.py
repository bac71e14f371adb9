"""Functions that repeat, roll and rotate tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, scalar, vector
from onnxwright.atenlib.helpers.shape import flat, reshape, reverse, slice_axis
from onnxwright.atenlib.helpers.sizes import arithmetic, axis_of, size, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.permute import exchanged
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


@aten("aten::flip", rule=like(), complex="parts")
def flip(op: Op, self: Value, dims: Sequence[int]) -> Value:
    """The elements in the opposite order along some dimensions."""
    return reverse(op, self, [axis_of(d, self.rank) for d in dims] if self.rank else [])


@aten("aten::fliplr", rule=like(), complex="parts")
def fliplr(op: Op, self: Value) -> Value:
    """The columns in the opposite order."""
    return reverse(op, self, [1])


@aten("aten::flipud", rule=like(), complex="parts")
def flipud(op: Op, self: Value) -> Value:
    """The rows in the opposite order."""
    return reverse(op, self, [0])


@aten("aten::tile", rule=like(), complex="parts")
def tile(op: Op, self: Value, dims: Sequence[Size]) -> Value:
    """The tensor repeated; a short list of counts is about the last dimensions."""
    missing = self.rank - len(dims)
    return _repeated(op, self, [*([1] * missing), *dims])


@aten("aten::repeat", rule=like(), complex="parts")
def repeat(op: Op, self: Value, repeats: Sequence[Size]) -> Value:
    """The tensor repeated along each dimension; more counts than dimensions add some in front."""
    return _repeated(op, self, list(repeats))


def _repeated(op: Op, x: Value, counts: Sequence[Any]) -> Value:
    extra = len(counts) - x.rank
    if extra > 0:
        x = op.Unsqueeze(x, list(range(extra)))
    if all(isinstance(n, int) and n == 1 for n in counts):
        return x
    return op.Tile(x, vector(op, counts))


@aten("aten::roll", rule=like(), complex="parts")
def roll(
    op: Op,
    self: Value,
    shifts: int | Sequence[Size] | Value,
    dims: int | Sequence[int] = (),
) -> Value:
    """The elements moved along dimensions, those pushed out coming in again in front."""
    if self.rank == 0:
        return self
    moves = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    axes = [dims] if isinstance(dims, int) else list(dims)
    if not axes:
        return reshape(op, _rolled(op, flat(op, self), moves[0], 0), sizes(op, self))
    for shift, dim in zip(moves, axes, strict=True):
        self = _rolled(op, self, shift, axis_of(dim, self.rank))
    return self


def _rolled(op: Op, x: Value, shift: Any, axis: int) -> Value:
    length = size(op, x, axis)
    if isinstance(length, int) and isinstance(shift, int):
        shift = shift % length if length else 0
        if shift == 0:
            return x
        cut: Any = length - shift
    else:
        count = op.Max(scalar(op, length, DType.INT64), 1)
        moved = op.Mod(scalar(op, shift, DType.INT64), count)
        cut = op.Sub(count, moved)
    return op.Concat(slice_axis(op, x, axis, cut, None), slice_axis(op, x, axis, 0, cut), axis=axis)


@aten("aten::rot90", rule=like(), complex="parts")
def rot90(op: Op, self: Value, k: int = 1, dims: Sequence[int] = (0, 1)) -> Value:
    """The plane of two dimensions turned by `k` right angles."""
    first, second = (axis_of(d, self.rank) for d in dims)
    turns = k % 4
    if turns == 0:
        return self
    if turns == 2:
        return reverse(op, self, [first, second])
    turned = reverse(op, self, [second if turns == 1 else first])
    return exchanged(op, turned, first, second)


@aten("aten::repeat_interleave.self_int", rule=like(), complex="parts")
def repeat_interleave_int(
    op: Op, self: Value, repeats: Size, dim: int | None = None, *, output_size: Size | None = None
) -> Value:
    """Every element of a dimension (of all, without one) `repeats` times in a row."""
    if dim is None or self.rank == 0:
        self, dim = flat(op, reshape(op, self, [1]) if self.rank == 0 else self), 0
    axis = axis_of(dim, self.rank)
    wide = op.Unsqueeze(self, [axis + 1])
    counts: list[Size] = [1] * wide.rank
    counts[axis + 1] = repeats
    every = sizes(op, self)
    every[axis] = arithmetic(op, "Mul", every[axis], repeats)
    return reshape(op, op.Expand(wide, vector(op, counts)), every)


@aten("aten::repeat_interleave.self_Tensor", rule=like(), complex="parts")
def repeat_interleave_tensor(
    op: Op, self: Value, repeats: Value, dim: int | None = None, *, output_size: Size | None = None
) -> Value:
    """Every element of a dimension (of all, without one) as often as `repeats` says."""
    if dim is None or self.rank == 0:
        self, dim = flat(op, reshape(op, self, [1]) if self.rank == 0 else self), 0
    axis = axis_of(dim, self.rank)
    counts = repeats if repeats.rank else op.Unsqueeze(repeats, [0])
    if counts.shape[0] == 1:
        counts = op.Expand(counts, vector(op, [size(op, self, axis)]))
    return op.Gather(self, repeated_positions(op, counts), axis=axis)


@aten("aten::repeat_interleave.Tensor", rule=like("repeats"), untested="no OpInfo runs it")
def repeat_interleave(op: Op, repeats: Value, *, output_size: Size | None = None) -> Value:
    """The number of each element as often as the element says."""
    return cast(op, repeated_positions(op, repeats), repeats.onnx_dtype)


def repeated_positions(op: Op, counts: Any) -> Value:
    """`i` repeated `counts[i]` times, for each `i` in order, as INT64."""
    counts = cast(op, counts, DType.INT64)
    most = op.ReduceMax(op.Concat(counts, op.constant(np.array([0])), axis=0), keepdims=0)
    # The marks of row i are its repeats; NonZero lists them row by row.
    marks = op.Less(op.Range(0, most, 1), op.Unsqueeze(counts, [1]))
    return op.Gather(op.NonZero(marks), 0, axis=0)
