"""Distinct elements: unique and its forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, iota, vector
from onnxwright.atenlib.helpers.reduce import reduce
from onnxwright.atenlib.helpers.shape import flat, slice_axis
from onnxwright.atenlib.helpers.sizes import axis_of, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType


def _empty(op: Op) -> Value:
    return full(op, [0], 0, DType.INT64)


@aten("aten::_unique2", rule=custom(), tests=[OpTest("unique")])
def unique2(
    op: Op,
    self: Value,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Value, ...]:
    """The distinct elements in order, where each element is among them, how often it comes."""
    values, _, inverse, counts = op.Unique(_sortable(op, flat(op, self)), sorted=1, _outputs=4)
    values = cast(op, values, self.onnx_dtype)
    shaped = inverse if self.rank == 1 else op.Reshape(inverse, op.Shape(self))
    return values, shaped if return_inverse else _empty(op), counts if return_counts else _empty(op)


@aten("aten::_unique", rule=custom(), untested="torch.unique is recorded as _unique2")
def unique(op: Op, self: Value, sorted: bool = True, return_inverse: bool = False) -> Any:
    """The distinct elements in order, and where each element is among them."""
    return unique2.body(op, self, sorted, return_inverse)[:2]


@aten("aten::unique_dim", rule=custom(), tests=[OpTest("unique")])
def unique_dim(
    op: Op,
    self: Value,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Value, ...]:
    """The distinct slices along an axis in order, where each is among them, how often it comes."""
    axis = axis_of(dim, self.rank)
    values, _, inverse, counts = op.Unique(_sortable(op, self), axis=axis, sorted=1, _outputs=4)
    return cast(op, values, self.onnx_dtype), inverse, counts


def _sortable(op: Op, x: Value) -> Value:
    """Unique has kernels for few types; FLOAT holds the small ones."""
    if x.onnx_dtype is DType.BFLOAT16:
        return op.Cast(x, to=DType.FLOAT)
    return x


@aten("aten::unique_consecutive", rule=custom())
def unique_consecutive(
    op: Op,
    self: Value,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Value, ...]:
    """The elements (slices along an axis) that differ from the one before; where, how often."""
    whole = dim is None
    x = flat(op, self) if whole or self.rank == 0 else self
    axis = 0 if dim is None else axis_of(dim, self.rank)
    differs = op.Not(op.Equal(slice_axis(op, x, axis, 1, None), slice_axis(op, x, axis, 0, -1)))
    others = [n for n in range(x.rank) if n != axis]
    changes = reduce(op, "ReduceMax", differs, others, False)
    length = size(op, x, axis)
    # The first element starts a run, if there is one.
    first = full(op, [1], True, DType.BOOL)
    starts = slice_axis(op, op.Concat(first, changes, axis=0), 0, 0, length)
    # Compress has no kernel for BFLOAT16.
    plain = op.Cast(x, to=DType.FLOAT) if self.onnx_dtype is DType.BFLOAT16 else x
    values = cast(op, op.Compress(plain, starts, axis=axis), self.onnx_dtype)
    steps = op.Cast(starts, to=DType.INT64)
    inverse = op.Sub(op.CumSum(steps, op.constant(np.array(0))), 1)
    if whole and self.rank != 1:
        inverse = op.Reshape(inverse, op.Shape(self))
    places = op.Compress(iota(op, length), starts, axis=0)
    ends = op.Concat(places, vector(op, [length]), axis=0)
    counts = op.Sub(slice_axis(op, ends, 0, 1, None), slice_axis(op, ends, 0, 0, -1))
    if whole:
        inverse = inverse if return_inverse else _empty(op)
        counts = counts if return_counts else _empty(op)
    return values, inverse, counts


@aten(
    "aten::unique_dim_consecutive",
    rule=custom(),
    untested="torch.unique_consecutive is recorded as a whole",
)
def unique_dim_consecutive(
    op: Op,
    self: Value,
    dim: int,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The slices along an axis that differ from the one before; where, how often."""
    return unique_consecutive.body(op, self, return_inverse, return_counts, dim)
