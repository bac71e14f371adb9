"""Functions that give a tensor another shape without new elements."""

from __future__ import annotations

from collections.abc import Sequence

from onnxwright.atenlib.complexes import real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.shape import expand_to, flat
from onnxwright.atenlib.helpers.shape import reshape as reshaped
from onnxwright.atenlib.helpers.sizes import (
    arithmetic,
    axes_of,
    axis_of,
    product,
    same_shape,
    size,
    sizes,
    static,
)
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType


@aten(
    "aten::view",
    "aten::_unsafe_view",
    "aten::view_copy",
    "aten::_reshape_copy",
    rule=like(),
    complex="parts",
    tests=[OpTest("view"), OpTest("view_copy")],
)
def view(op: Op, self: Value, size: Sequence[Size]) -> Value:
    """The elements in another shape, in the same order."""
    return reshaped(op, self, size)


@aten("aten::reshape", rule=like(), complex="parts")
def reshape(op: Op, self: Value, shape: Sequence[Size]) -> Value:
    """The elements in another shape, in the same order."""
    return reshaped(op, self, shape)


@aten("aten::_reshape_alias", rule=like(), complex="parts", untested="inner operator of reshape")
def reshape_alias(op: Op, self: Value, size: Sequence[Size], stride: Sequence[Size]) -> Value:
    """The elements in another shape; strides say nothing about values."""
    return reshaped(op, self, size)


@aten(
    "aten::view_as",
    "aten::reshape_as",
    rule=like(),
    tests=[OpTest("view_as"), OpTest("reshape_as")],
)
def view_as(op: Op, self: Value, other: Value) -> Value:
    """The elements in the shape of another tensor."""
    return reshaped(op, self, sizes(op, other))


@view_as.on_complex
def _view_as_complex(op: Op, self: Value, other: Value) -> Value:
    lengths = sizes(op, real_part(other))
    return algebra.each(lambda part: reshaped(op, part, lengths), self)


@aten("aten::flatten.using_ints", rule=like(), complex="parts")
def flatten(op: Op, self: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """The dimensions from `start_dim` to `end_dim` as one."""
    if self.rank == 0:
        return reshaped(op, self, [1])
    first, last = axis_of(start_dim, self.rank), axis_of(end_dim, self.rank)
    if first == last:
        return self
    merged = self.shape[first : last + 1]
    if not all(isinstance(d, int) for d in merged):
        if last - first == self.rank - 1:
            return flat(op, self)
        # Flatten makes a matrix of a tensor, whatever its sizes are.
        if first == 0 and last == self.rank - 2:
            return op.Flatten(self, axis=last + 1)
        if first == 1 and last == self.rank - 1:
            return op.Flatten(self, axis=1)
    every = sizes(op, self)
    middle = product(op, every[first : last + 1])
    return reshaped(op, self, [*every[:first], middle, *every[last + 1 :]])


@aten("aten::unflatten.int", rule=like(), complex="parts")
def unflatten(op: Op, self: Value, dim: int, sizes: Sequence[Size]) -> Value:
    """One dimension as several."""
    axis = axis_of(dim, self.rank)
    parts = list(sizes)
    others = [d for a, d in enumerate(self.shape) if a != axis]
    if -1 in [n for n in parts if isinstance(n, int)] and not (static(others) and all(others)):
        # Reshape finds a missing size only where the others have elements.
        place = next(i for i, n in enumerate(parts) if isinstance(n, int) and n == -1)
        rest = product(op, parts[:place] + parts[place + 1 :])
        parts[place] = arithmetic(op, "Div", size(op, self, axis), rest)
    every = [size(op, self, a) for a in range(self.rank)]
    return reshaped(op, self, [*every[:axis], *parts, *every[axis + 1 :]])


@aten("aten::ravel", rule=like(), complex="parts")
def ravel(op: Op, self: Value) -> Value:
    """All elements in one dimension."""
    return flat(op, self)


def squeeze_axes(op: Op, x: Value, axes: list[int]) -> Value:
    """Those of some axes left out that are known to be 1 long; torch.export guards the rest."""
    ones = sorted({a for a in axes if x.rank and x.shape[a] == 1})
    return op.Squeeze(x, ones) if ones else x


@aten(
    "aten::squeeze",
    "aten::squeeze.dim",
    "aten::squeeze.dims",
    "aten::squeeze_copy",
    "aten::squeeze_copy.dim",
    "aten::squeeze_copy.dims",
    rule=like(),
    complex="parts",
    tests=[OpTest("squeeze"), OpTest("squeeze:multiple"), OpTest("squeeze_copy")],
)
def squeeze(op: Op, self: Value, dim: int | Sequence[int] | None = None) -> Value:
    """Without the dimensions of size one, of all or of some; no dimensions are none of them."""
    if isinstance(dim, (list, tuple)) and not dim:
        return self
    return squeeze_axes(op, self, axes_of(dim, self.rank))


@aten(
    "aten::unsqueeze",
    "aten::unsqueeze_copy",
    rule=like(),
    complex="parts",
    tests=[OpTest("unsqueeze"), OpTest("unsqueeze_copy")],
)
def unsqueeze(op: Op, self: Value, dim: int) -> Value:
    """With a dimension of size one at `dim` of the result."""
    return op.Unsqueeze(self, [dim % (self.rank + 1)])


@aten(
    "aten::expand",
    "aten::broadcast_to",
    "aten::expand_copy",
    rule=like(),
    complex="parts",
    tests=[OpTest("expand"), OpTest("broadcast_to"), OpTest("expand_copy")],
)
def expand(op: Op, self: Value, size: Sequence[Size]) -> Value:
    """Broadcast to a size; -1 keeps a dimension."""
    return expand_to(op, self, size)


@aten("aten::expand_as", rule=like())
def expand_as(op: Op, self: Value, other: Value) -> Value:
    """Broadcast to the shape of another tensor."""
    if static(other.shape):
        return expand_to(op, self, list(other.shape))
    return self if same_shape(self, other) else op.Expand(self, op.Shape(other))


@expand_as.on_complex
def _expand_as_complex(op: Op, self: Value, other: Value) -> Value:
    return algebra.each(lambda part: expand_as.body(op, part, real_part(other)), self)


@aten(
    "aten::alias",
    "aten::alias_copy",
    "aten::detach_copy",
    "aten::lift",
    "aten::lift_fresh",
    "aten::lift_fresh_copy",
    rule=like(),
    complex="parts",
    tests=[OpTest("alias_copy")],
)
def alias(op: Op, self: Value) -> Value:
    """The tensor itself: values of a model never change."""
    return self


@aten("onnxwright::with_new_sizes", rule=like("x"), untested="torch has no OpInfo for it")
def with_new_sizes(op: Op, x: Value, axes: Sequence[int]) -> Value:
    """The tensor itself, whose sizes the capture knows by other names."""
    return x


@aten("onnxwright::with_sizes", rule=like("x"), untested="torch has no OpInfo for it")
def with_sizes(op: Op, x: Value, sizes: Sequence[Size]) -> Value:
    """The tensor itself, whose sizes the capture knows by other names."""
    return x


@aten("aten::view.dtype", "aten::view_copy.dtype", rule=custom(lambda a: a["dtype"]),
      untested="no OpInfo")  # fmt: skip
def view_dtype(op: Op, self: Value, dtype: DType) -> Value:
    """The same bits read as another type."""
    own = self.onnx_dtype
    if own is dtype:
        return self
    if dtype.is_complex or own.bits != dtype.bits:
        unsupported(f"ONNX cannot read the bits of {own.name} as {dtype.name}")
    if own.is_integer and dtype.is_integer:
        return op.Cast(self, to=dtype)
    if own.is_bool and dtype.is_integer:
        return op.Cast(self, to=dtype)
    if op.version >= 26:
        return op.BitCast(self, to=dtype)
    unsupported(
        f"reading the bits of {own.name} as {dtype.name} needs opset 26",
        hint="export with `opset_version=26`",
    )
