"""Functions that read, make and write diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import full, iota, scalar
from onnxwright.atenlib.helpers.scatter import into
from onnxwright.atenlib.helpers.shape import (
    axes_last,
    flat,
    inverse_order,
    permute,
    reshape,
    slice_axis,
)
from onnxwright.atenlib.helpers.sizes import arithmetic, axis_of, size, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import like, reduction
from onnxwright.types.dtypes import DType


def diagonal_of(op: Op, x: Value, offset: int) -> Value:
    """A diagonal of the matrices in the last two dimensions, in the last one.

    The diagonal is every `columns + 1`-th element of a matrix.
    """
    every = sizes(op, x)
    rows, columns = every[-2:]
    start, first = _start(op, columns, offset)
    room = arithmetic(op, "Min", arithmetic(op, "Add", rows, min(offset, 0)), first)
    length = arithmetic(op, "Max", room, 0)
    step = arithmetic(op, "Add", columns, 1)
    end = arithmetic(op, "Add", start, arithmetic(op, "Mul", length, step))
    lines = reshape(op, x, [*every[:-2], arithmetic(op, "Mul", rows, columns)])
    if isinstance(length, int) and length == 0:
        return slice_axis(op, lines, x.rank - 2, 0, 0)
    return slice_axis(op, lines, x.rank - 2, start, end, step)


def _start(op: Op, columns: Size, offset: int) -> tuple[Any, Any]:
    """Where a diagonal begins in the elements of a matrix, and the columns it may reach."""
    if offset >= 0:
        return offset, arithmetic(op, "Sub", columns, offset)
    return arithmetic(op, "Mul", columns, -offset), columns


@aten(
    "aten::diagonal",
    "aten::diagonal_copy",
    rule=like(),
    complex="parts",
    tests=[OpTest("diagonal"), OpTest("diagonal_copy")],
)
def diagonal(op: Op, self: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """The diagonals of the matrices in two dimensions, as a new last one."""
    axes = [axis_of(dim1, self.rank), axis_of(dim2, self.rank)]
    return diagonal_of(op, permute(op, self, axes_last(axes, self.rank)), offset)


@aten("aten::linalg_diagonal", rule=like("A"), complex="parts", tests=[OpTest("linalg.diagonal")])
def linalg_diagonal(op: Op, A: Value, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of the matrices in two dimensions, as a new last one."""
    return diagonal.body(op, A, offset, dim1, dim2)


def on_diagonal(op: Op, x: Value, line: Any, offset: int) -> Value:
    """Matrices with a diagonal replaced.

    Args:
        x: a value of rank two or more, `[..., rows, columns]`.
        line: what the diagonal shall be, `[..., length]`.
        offset: which diagonal, above the main one where it is positive.

    Returns:
        A value like `x`.
    """
    rows, columns = size(op, x, -2), size(op, x, -1)
    # A row has one element on a diagonal above, a column one on a diagonal below: the line is
    # spread over these, and a mask says where it stays.
    length, axis = (rows, -1) if offset >= 0 else (columns, -2)
    missing = arithmetic(op, "Sub", length, size(op, line, -1))
    if not (isinstance(missing, int) and missing == 0):
        zeros = full(op, [*sizes(op, line)[:-1], missing], 0, line.onnx_dtype)
        line = op.Concat(line, zeros, axis=-1)
    return op.Where(_mask(op, rows, columns, offset), op.Unsqueeze(line, [axis]), x)


def _mask(op: Op, rows: Size, columns: Size, offset: int) -> Value:
    if isinstance(rows, int) and isinstance(columns, int) and rows * columns <= 4096:
        return op.constant(np.eye(rows, columns, offset, dtype=np.bool_))
    down = op.Unsqueeze(iota(op, rows), [1])
    return op.Equal(op.Add(down, offset) if offset else down, iota(op, columns))


def embedded(op: Op, line: Any, offset: int) -> Value:
    """Square matrices of zeros with a diagonal that is given."""
    side = arithmetic(op, "Add", size(op, line, -1), abs(offset))
    nothing = full(op, [side, side], 0, line.onnx_dtype)
    return on_diagonal(op, nothing, line, offset)


@aten("aten::diag_embed", rule=like(), complex="parts")
def diag_embed(op: Op, self: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """Matrices of zeros in two new dimensions, with a diagonal that is given."""
    rank = self.rank + 1
    axes = [axis_of(dim1, rank), axis_of(dim2, rank)]
    matrix = embedded(op, self, offset)
    return permute(op, matrix, inverse_order(axes_last(axes, rank)))


@aten("aten::diag", rule=like(), complex="parts")
def diag(op: Op, self: Value, diagonal: int = 0) -> Value:
    """The diagonal of a matrix, or the matrix of a diagonal."""
    if self.rank == 1:
        return embedded(op, self, diagonal)
    return diagonal_of(op, self, diagonal)


@aten("aten::diagflat", rule=like(), complex="parts")
def diagflat(op: Op, self: Value, offset: int = 0) -> Value:
    """The matrix whose diagonal are all elements of a tensor."""
    return embedded(op, flat(op, self), offset)


@aten("aten::diagonal_scatter", rule=into("src"), complex="parts")  # fmt: skip
def diagonal_scatter(
    op: Op, self: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Value:
    """The tensor with the diagonals of two dimensions replaced by `src`."""
    axes = [axis_of(dim1, self.rank), axis_of(dim2, self.rank)]
    order = axes_last(axes, self.rank)
    written = on_diagonal(op, permute(op, self, order), src, offset)
    return permute(op, written, inverse_order(order))


@aten("aten::fill_diagonal", rule=into("fill_value"), complex="parts",
      untested="tests/atenlib/test_diagonal.py")  # fmt: skip
def fill_diagonal(op: Op, self: Value, fill_value: Number, wrap: bool = False) -> Value:
    """The tensor with one number where all indices are equal; `wrap` repeats below the square."""
    value = scalar(op, fill_value, self.onnx_dtype)
    if self.rank == 2 and wrap:
        columns = size(op, self, 1)
        step = arithmetic(op, "Add", columns, 1)
        numbers = iota(op, arithmetic(op, "Mul", size(op, self, 0), columns))
        step = scalar(op, step, DType.INT64)
        place = op.Equal(op.Mod(numbers, step), 0)
        return op.Where(reshape(op, place, sizes(op, self)), value, self)
    rows = iota(op, size(op, self, 0))
    chosen = None
    for axis in range(1, self.rank):
        shape = [a for a in range(self.rank) if a != 0]
        other = op.Unsqueeze(
            iota(op, size(op, self, axis)), [a for a in range(self.rank) if a != axis]
        )
        equal = op.Equal(op.Unsqueeze(rows, shape), other)
        chosen = equal if chosen is None else op.And(chosen, equal)
    return op.Where(chosen, value, self)


@aten("aten::trace", rule=reduction("self", promote="bool_to_long"), complex="parts")  # fmt: skip
def trace(op: Op, self: Value) -> Value:
    """The sum of the diagonal of a matrix."""
    return op.ReduceSum(diagonal_of(op, self, 0), keepdims=0)
