"""The primitives of shape and creation that torch's references are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.constants import iota as numbers_below
from onnxwright.atenlib.helpers.scatter import into
from onnxwright.atenlib.helpers.shape import expand_to, permute, reshape, reverse
from onnxwright.atenlib.helpers.sizes import arithmetic, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.as_strided import as_strided, as_strided_scatter
from onnxwright.atenlib.ops.creation import filled, filled_like, resize
from onnxwright.atenlib.ops.view import flatten, squeeze_axes
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import creation, like
from onnxwright.types.dtypes import DType

_UNTESTED = "prims: no OpInfo runs it; tests/atenlib/test_prims_shape.py"


@aten("prims::reshape", rule=like("a"), complex="parts", untested=_UNTESTED)
def prims_reshape(op: Op, a: Value, shape: Sequence[Size]) -> Value:
    """The elements in another shape, in the same order."""
    return reshape(op, a, shape)


@aten("prims::resize", rule=like("a"), complex="parts", untested=_UNTESTED)
def prims_resize(op: Op, a: Value, shape: Sequence[Size]) -> Any:
    """The elements in another shape; too many are dropped, missing ones are zeros."""
    return resize.body(op, a, shape)


@aten("prims::squeeze", rule=like("a"), complex="parts", untested=_UNTESTED)
def prims_squeeze(op: Op, a: Value, dimensions: Sequence[int]) -> Value:
    """Without those of some dimensions whose size is one."""
    return squeeze_axes(op, a, [d % a.rank for d in dimensions])


@aten("prims::transpose", rule=like("a"), complex="parts", untested=_UNTESTED)
def prims_transpose(op: Op, a: Value, permutation: Sequence[int]) -> Value:
    """The axes in another order."""
    return permute(op, a, list(permutation))


@aten("prims::broadcast_in_dim", rule=like("a"), complex="parts", untested=_UNTESTED)
def broadcast_in_dim(
    op: Op, a: Value, shape: Sequence[Size], broadcast_dimensions: Sequence[int]
) -> Value:
    """Broadcast to a shape, each dimension of `a` at a place that is given."""
    missing = [n for n in range(len(shape)) if n not in broadcast_dimensions]
    return expand_to(op, op.Unsqueeze(a, missing) if missing else a, list(shape))


@aten("prims::collapse", "prims::collapse_view", rule=like("a"), complex="parts",
      untested=_UNTESTED)  # fmt: skip
def collapse(op: Op, a: Value, start: int, end: int) -> Any:
    """The dimensions from `start` to `end` as one."""
    return flatten.body(op, a, start, end)


@aten("prims::split_dim", rule=like("a"), complex="parts", untested=_UNTESTED)
def split_dim(op: Op, a: Value, dim: int, outer_length: Size) -> Value:
    """One dimension as two, the first of a length that is given."""
    every = sizes(op, a)
    inner = arithmetic(op, "Div", every[dim], outer_length)
    return reshape(op, a, [*every[:dim], outer_length, inner, *every[dim + 1 :]])


@aten("prims::rev", rule=like("a"), complex="parts", untested=_UNTESTED)
def rev(op: Op, a: Value, dims: Sequence[int]) -> Value:
    """The elements in the opposite order along some dimensions."""
    return reverse(op, a, list(dims))


@aten("prims::as_strided", rule=like("a"), complex="parts", untested=_UNTESTED)
def prims_as_strided(
    op: Op, a: Value, size: Sequence[Size], stride: Sequence[Size], storage_offset: Size
) -> Any:
    """Elements read from a contiguous tensor with sizes, strides and an offset of one's own."""
    return as_strided.body(op, a, size, stride, storage_offset)


@aten("prims::as_strided_scatter", rule=into("src"), complex="parts", untested=_UNTESTED)
def prims_as_strided_scatter(
    op: Op,
    self: Value,
    src: Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size,
) -> Any:
    """The tensor with a strided view of it replaced by `src`."""
    return as_strided_scatter.body(op, self, src, size, stride, storage_offset)


@aten("prims::iota", rule=creation(), untested=_UNTESTED)
def iota(op: Op, length: Size, *, start: Size, step: Size, dtype: DType) -> Value:
    """`length` numbers from `start` on, `step` apart."""
    steps = numbers_below(op, length)
    if not (isinstance(step, int) and step == 1):
        steps = op.Mul(steps, scalar(op, step, DType.INT64))
    if not (isinstance(start, int) and start == 0):
        steps = op.Add(steps, scalar(op, start, DType.INT64))
    return cast(op, steps, dtype)


@aten("prims::full", rule=creation(), untested=_UNTESTED)
def prims_full(op: Op, shape: Sequence[Size], fill_value: Number, *, dtype: DType) -> Value:
    """A tensor of a shape filled with one number."""
    return filled(op, shape, fill_value, dtype)


@aten("prims::full_like", rule=creation(), untested=_UNTESTED, complex="same")
def prims_full_like(op: Op, a: Value, fill_value: Number, *, dtype: DType) -> Value:
    """A tensor of the shape of another filled with one number."""
    return filled_like(op, a, fill_value, dtype)


@aten("prims::empty_permuted", rule=creation(), untested=_UNTESTED)
def prims_empty_permuted(
    op: Op, shape: Sequence[Size], physical_layout: Sequence[int], *, dtype: DType
) -> Value:
    """A tensor of any elements: zeros."""
    return filled(op, shape, 0, dtype)


@aten("prims::empty_strided", rule=creation(), untested=_UNTESTED)
def prims_empty_strided(
    op: Op, shape: Sequence[Size], strides: Sequence[Size], *, dtype: DType
) -> Value:
    """A tensor of any elements: zeros."""
    return filled(op, shape, 0, dtype)
