"""Functions that split tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.helpers.constants import full, known_array
from onnxwright.atenlib.helpers.shape import reshape, slice_axis
from onnxwright.atenlib.helpers.sizes import (
    arithmetic,
    axis_of,
    dim_of,
    product,
    size,
    sizes,
    static,
)
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types import dims as dim_rules

_TENSOR_SPLIT = (
    OpTest(
        "tensor_split",
        xfail=[
            XFail(
                "the number of parts is an element of a tensor",
                matcher=lambda s: getattr(s.args[0], "ndim", 1) == 0,
            )
        ],
    ),
)


def parted(op: Op, x: Value, lengths: Sequence[Size], axis: int) -> list[Any]:
    """A value split into parts of given lengths."""
    if len(lengths) == 1:
        return [x]
    if static(lengths):
        return list(op.Split(x, list(lengths), axis=axis))
    parts = []
    start: Any = 0
    for n in lengths:
        end = arithmetic(op, "Add", start, n)
        parts.append(slice_axis(op, x, axis, start, end))
        start = end
    return parts


def cut_at(op: Op, x: Value, places: Sequence[Any], axis: int) -> list[Any]:
    """A value cut at positions, with the limits of Python's slices."""
    starts, ends = [0, *places], [*places, None]
    whole = x.shape[axis]
    if isinstance(whole, int) and static(places):
        # A part that would end before it starts is empty.
        first = [slice(s, e).indices(whole) for s, e in zip(starts, ends, strict=True)]
        lengths = [max(0, e - s) for s, e, _ in first]
        if sum(lengths) == whole and all(s <= e for s, e, _ in first):
            return parted(op, x, lengths, axis)
    return [slice_axis(op, x, axis, s, e) for s, e in zip(starts, ends, strict=True)]


def _even_lengths(op: Op, x: Value, length: Size, axis: int) -> list[Any]:
    """The lengths of parts of `length`, the last one shorter."""
    whole = size(op, x, axis)
    if isinstance(whole, int) and isinstance(length, int):
        if length == 0:
            return [whole]
        full, short = divmod(whole, length)
        return ([length] * full + ([short] if short else [])) or [0]
    # Both may be unknown and still have a known ratio.
    count = dim_rules.ceildiv(x.shape[axis], dim_of(length))
    if not isinstance(count, int):
        unsupported("the number of parts depends on a size known only at run time")
    rest = arithmetic(op, "Sub", whole, arithmetic(op, "Mul", length, count - 1))
    return [*([length] * (count - 1)), rest]


@aten(
    "aten::split.Tensor",
    "aten::split.sizes",
    "aten::split_copy.Tensor",
    "aten::unsafe_split.Tensor",
    rule=like(),
    complex="parts",
    tests=[OpTest("split"), OpTest("split:list_args"), OpTest("unsafe_split")],
)
def split(op: Op, self: Value, split_size: Size | Sequence[Size], dim: int = 0) -> list[Value]:
    """Parts of one size along a dimension, the last one shorter, or parts of given sizes."""
    axis = axis_of(dim, self.rank)
    if isinstance(split_size, Sequence):
        return parted(op, self, split_size, axis)
    return parted(op, self, _even_lengths(op, self, split_size, axis), axis)


@aten(
    "aten::split",
    "aten::split_with_sizes",
    "aten::split_with_sizes_copy",
    "aten::unsafe_split_with_sizes",
    rule=like(),
    complex="parts",
    tests=[OpTest("split_with_sizes"), OpTest("split_with_sizes_copy")],
)
def split_with_sizes(op: Op, self: Value, split_sizes: Sequence[Size], dim: int = 0) -> list[Value]:
    """Parts of given sizes along a dimension."""
    return parted(op, self, split_sizes, axis_of(dim, self.rank))


@aten("aten::chunk", "aten::unsafe_chunk", rule=like(), complex="parts",
      tests=[OpTest("chunk"), OpTest("unsafe_chunk")])  # fmt: skip
def chunk(op: Op, self: Value, chunks: int, dim: int = 0) -> list[Value]:
    """At most `chunks` parts of one size along a dimension, the last one shorter."""
    axis = axis_of(dim, self.rank)
    whole = self.shape[axis]
    if not isinstance(whole, int):
        return [self] if chunks == 1 else list(op.Split(self, axis=axis, num_outputs=chunks))
    length = -(-whole // chunks)
    if length == 0:
        return parted(op, self, [0] * chunks, axis)
    return parted(op, self, _even_lengths(op, self, length, axis), axis)


def even_parts(op: Op, x: Value, count: int, axis: int) -> list[Any]:
    """A value in `count` parts as even as can be, the longer ones first."""
    whole = size(op, x, axis)
    if isinstance(whole, int):
        short, longer = divmod(whole, count)
        lengths = [short + 1] * longer + [short] * (count - longer)
        return parted(op, x, lengths, axis)
    least = arithmetic(op, "Div", whole, count)
    more = arithmetic(op, "Sub", whole, arithmetic(op, "Mul", least, count))
    places = [
        arithmetic(op, "Add", arithmetic(op, "Mul", least, i), arithmetic(op, "Min", more, i))
        for i in range(1, count)
    ]
    return cut_at(op, x, places, axis)


@aten("aten::tensor_split.sections", rule=like(), complex="parts", tests=_TENSOR_SPLIT)
def tensor_split_sections(op: Op, self: Value, sections: Size, dim: int = 0) -> list[Value]:
    """Parts as even as can be, the longer ones first."""
    if not isinstance(sections, int):
        unsupported("the number of parts is known only at run time")
    return even_parts(op, self, sections, axis_of(dim, self.rank))


@aten("aten::tensor_split.indices", rule=like(), complex="parts", tests=_TENSOR_SPLIT)
def tensor_split_indices(op: Op, self: Value, indices: Sequence[Size], dim: int = 0) -> list[Value]:
    """Cut at positions along a dimension."""
    return cut_at(op, self, list(indices), axis_of(dim, self.rank))


@aten(
    "aten::tensor_split.tensor_indices_or_sections",
    rule=like(),
    complex="parts",
    tests=_TENSOR_SPLIT,
)
def tensor_split_tensor(
    op: Op, self: Value, tensor_indices_or_sections: Value, dim: int = 0
) -> list[Value]:
    """Cut at the positions in a tensor, or into as many parts as one says."""
    axis = axis_of(dim, self.rank)
    indices_or_sections = tensor_indices_or_sections
    array = known_array(op, indices_or_sections)
    if indices_or_sections.rank == 0:
        if array is None:
            unsupported("the number of parts is an element of a tensor")
        return even_parts(op, self, int(array), axis)
    if array is not None:
        return cut_at(op, self, [int(n) for n in array], axis)
    count = indices_or_sections.shape[0]
    if not isinstance(count, int):
        unsupported("the number of parts depends on a size known only at run time")
    return cut_at(op, self, [op.Gather(indices_or_sections, i) for i in range(count)], axis)


def _register(name: str, axis: int, where: str) -> None:
    """Register the parts and the cuts along one dimension; a vector has no second one."""

    def even(op: Op, self: Value, sections: int) -> list[Value]:
        return even_parts(op, self, sections, 0 if self.rank == 1 else axis)

    def cut(op: Op, self: Value, indices: Sequence[int]) -> list[Value]:
        return cut_at(op, self, list(indices), 0 if self.rank == 1 else axis)

    aten(f"aten::{name}.int", rule=like(), complex="parts", doc=f"Even parts {where}.")(even)
    aten(f"aten::{name}.array", rule=like(), complex="parts", doc=f"Cut {where}.")(cut)


_register("hsplit", 1, "along the second dimension, of a vector along its only one")
_register("vsplit", 0, "along the first dimension")
_register("dsplit", 2, "along the third dimension")


@aten("aten::unbind.int", "aten::unbind_copy.int", rule=like(), complex="parts",
      tests=[OpTest("unbind"), OpTest("unbind_copy")])  # fmt: skip
def unbind(op: Op, self: Value, dim: int = 0) -> list[Value]:
    """The slices along a dimension, without it."""
    axis = axis_of(dim, self.rank)
    count = self.shape[axis]
    if not isinstance(count, int):
        unsupported("the number of parts depends on a size known only at run time")
    if count == 1:
        return [op.Squeeze(self, [axis])]
    return [op.Gather(self, i, axis=axis) for i in range(count)]


@aten("aten::_chunk_cat", rule=like("tensors"), complex="parts")
def chunk_cat(op: Op, tensors: Sequence[Value], dim: int, num_chunks: int) -> Value:
    """Each tensor in chunks, the last one filled up with zeros; the chunks are flat rows."""
    rows = []
    for t in tensors:
        axis = axis_of(dim, t.rank)
        every = sizes(op, t)
        length = arithmetic(
            op, "Div", arithmetic(op, "Add", every[axis], num_chunks - 1), num_chunks
        )
        missing = arithmetic(op, "Sub", arithmetic(op, "Mul", length, num_chunks), every[axis])
        if not (isinstance(missing, int) and missing == 0):
            zeros = full(op, [*every[:axis], missing, *every[axis + 1 :]], 0, t.onnx_dtype)
            t = op.Concat(t, zeros, axis=axis)
        width = product(op, [length, *every[axis + 1 :]])
        rows.append(reshape(op, t, [*every[:axis], num_chunks, width]))
    return op.Concat(*rows, axis=-1)
