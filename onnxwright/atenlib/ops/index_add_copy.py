"""Functions that write slices at the indices of one axis."""

from __future__ import annotations

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import full, full_like, number
from onnxwright.atenlib.helpers.index_positions import as_index
from onnxwright.atenlib.helpers.scatter import along, into, scatter_elements, scatter_nd
from onnxwright.atenlib.helpers.shape import on_axis
from onnxwright.atenlib.helpers.sizes import axis_of, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.scatter import combined
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value
from onnxwright.types.dtypes import DType


def _row(op: Op, index: Value) -> Value:
    return as_index(op, index if index.rank else op.Unsqueeze(index, [0]))


def write_slices(op: Op, x: Value, dim: int, index: Value, source: Value, reduction: str) -> Value:
    """Slices written at positions of one axis, with a reduction."""
    scalar_given = x.rank == 0
    if scalar_given:
        x = op.Unsqueeze(x, [0])
    if source.rank == 0:
        source = op.Unsqueeze(source, [0])
    axis = axis_of(dim, x.rank)
    row = _row(op, index)
    if axis == 0:
        written = scatter_nd(op, x, op.Unsqueeze(row, [1]), source, reduction)
    else:
        written = scatter_elements(op, x, along(op, row, source, axis), source, axis, reduction)
    return op.Squeeze(written, [0]) if scalar_given else written


@aten("aten::index_add", rule=into("source"))
def index_add(
    op: Op, self: Value, dim: int, index: Value, source: Value, *, alpha: Number = 1
) -> Value:
    """The tensor with `alpha` times slices added at positions of one axis."""
    if alpha != 1:
        factor = number(alpha, source.onnx_dtype)
        both = op.And if source.onnx_dtype.is_bool else op.Mul
        source = both(source, op.constant(np.array(factor, source.onnx_dtype.numpy)))
    return write_slices(op, self, dim, index, source, "add")


@index_add.on_complex
def _index_add_complex(
    op: Op, self: Complex, dim: int, index: Value, source: Complex, *, alpha: Number = 1
) -> Complex:
    factor = complex(alpha)
    if factor != 1:
        real, imag = source.real, source.imag
        source = Complex(
            op.Sub(op.Mul(real, factor.real), op.Mul(imag, factor.imag)),
            op.Add(op.Mul(real, factor.imag), op.Mul(imag, factor.real)),
        )
    return Complex(
        write_slices(op, self.real, dim, index, source.real, "add"),
        write_slices(op, self.imag, dim, index, source.imag, "add"),
    )


@aten("aten::index_copy", rule=into("source"), complex="parts")
def index_copy(op: Op, self: Value, dim: int, index: Value, source: Value) -> Value:
    """The tensor with slices written at positions of one axis."""
    return write_slices(op, self, dim, index, source, "none")


@aten(
    "aten::index_fill.int_Scalar",
    "aten::index_fill.int_Tensor",
    rule=into("value"),
    complex="parts",
)
def index_fill(op: Op, self: Value, dim: int, index: Value, value: Number | Value) -> Value:
    """The tensor with one number written at positions of one axis."""
    row = _row(op, index)
    rank = max(self.rank, 1)
    axis = axis_of(dim, rank)
    length = size(op, self, axis) if self.rank else 1
    marks = full_like(op, row, True, DType.BOOL)
    mask = op.ScatterElements(full(op, [length], False, DType.BOOL), row, marks)
    chosen = on_axis(op, mask, axis, rank) if self.rank else op.Squeeze(mask, [0])
    return op.Where(chosen, value, self)


# torch rounds after each step, ours once.
_HALF = {"float16": Tol(5e-3, 1e-3), "bfloat16": Tol(4e-2, 1e-2)}
_REDUCED = tuple(
    OpTest(f"index_reduce:{how}", tol=_HALF) for how in ("mean", "prod", "amin", "amax")
)


@aten("aten::index_reduce", rule=into("source"), tests=_REDUCED)
def index_reduce(
    op: Op,
    self: Value,
    dim: int,
    index: Value,
    source: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    """The tensor with slices combined at positions of one axis."""
    scalar_given = self.rank == 0
    if scalar_given:
        self = op.Unsqueeze(self, [0])
    if source.rank == 0:
        source = op.Unsqueeze(source, [0])
    axis = axis_of(dim, self.rank)
    places = along(op, _row(op, index), source, axis)
    reduced = combined(op, self, axis, places, source, reduce, include_self)
    return op.Squeeze(reduced, [0]) if scalar_given else reduced
