"""Functions that read elements by index, or are steered by a mask."""

from __future__ import annotations

from collections.abc import Sequence

from onnxwright.atenlib.complexes import real_part
from onnxwright.atenlib.helpers.constants import full, full_like, scalar, vector
from onnxwright.atenlib.helpers.index_positions import (
    as_index,
    clamped,
    compress,
    gather_at,
    is_mask,
    nonzero_matrix,
    nonzero_rows,
    positions_of,
)
from onnxwright.atenlib.helpers.scatter import into
from onnxwright.atenlib.helpers.shape import expand_together, flat
from onnxwright.atenlib.helpers.sizes import axis_of, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

_INDICES = custom(lambda _: DType.INT64)


@aten(
    "aten::index.Tensor",
    "aten::index.Tensor_hacked_twin",
    "aten::_unsafe_index.Tensor",
    "aten::_unsafe_index.Tensor_hacked_twin",
    rule=like(),
    complex="parts",
    tests=[OpTest("__getitem__")],
)
def index(op: Op, self: Value, indices: Sequence[Value | None] | Sequence[Value]) -> Value:
    """Elements at index tensors and masks, as torch's advanced indexing reads them."""
    indexed = [(n, i) for n, i in enumerate(indices) if i is not None]
    if not indexed:
        return self
    if len(indexed) == 1 and is_mask(indexed[0][1]):
        axis, mask = indexed[0]
        if mask.rank == 1:
            return compress(op, self, mask_of(op, mask), axis)
        if mask.rank == self.rank:
            return compress(op, self, flat(op, mask_of(op, mask)))
    positions = positions_of(op, indices)
    if len(positions) == 1:
        axis, position = positions[0]
        return op.Gather(self, as_index(op, position), axis=axis)
    return gather_at(op, self, positions)


def mask_of(op: Op, mask: Value) -> Value:
    """A mask as BOOL."""
    return mask if mask.onnx_dtype.is_bool else op.Cast(mask, to=DType.BOOL)


@aten("aten::_unsafe_masked_index", rule=into("fill"), complex="parts")  # fmt: skip
def unsafe_masked_index(
    op: Op, self: Value, mask: Value, indices: Sequence[Value | None], fill: Number
) -> Value:
    """Elements at indices where a mask is true, elsewhere a number."""
    within = [i if i is None else clamped(op, self, n, i) for n, i in enumerate(indices)]
    taken = index.body(op, self, within)
    return op.Where(mask_of(op, mask), taken, scalar(op, fill, self.onnx_dtype))


@aten("aten::index_select", rule=like(), complex="parts")
def index_select(op: Op, self: Value, dim: int, index: Value) -> Value:
    """Slices along a dimension, in the order of an index."""
    if self.rank == 0:
        return self
    row = index if index.rank else op.Unsqueeze(index, [0])
    return op.Gather(self, as_index(op, row), axis=axis_of(dim, self.rank))


@aten("aten::gather", rule=like(), complex="parts")
def gather(op: Op, self: Value, dim: int, index: Value) -> Value:
    """Elements along a dimension, at an index for every other place."""
    if index.rank == 0 and self.rank == 0:
        return self
    if self.rank == 0:
        return op.Gather(op.Unsqueeze(self, [0]), as_index(op, index))
    if index.rank == 0:
        return op.Gather(self, as_index(op, index))
    if index.rank != self.rank:  # torch lets an index without elements have any shape
        return full_like(op, index, 0, self.onnx_dtype)
    return op.GatherElements(self, as_index(op, index), axis=axis_of(dim, self.rank))


@aten("aten::take", rule=like(), complex="parts")
def take(op: Op, self: Value, index: Value) -> Value:
    """Elements by their number, counted over the whole tensor."""
    return op.Gather(flat(op, self), as_index(op, index))


@aten("aten::take_along_dim", rule=like(), complex="parts")
def take_along_dim(op: Op, self: Value, indices: Value, dim: int | None = None) -> Value:
    """Elements along a dimension (over the whole tensor without one); the rest broadcasts."""
    indices = as_index(op, indices)
    if dim is None:
        return op.Gather(flat(op, self), flat(op, indices))
    axis = axis_of(dim, self.rank)
    # Each is expanded to the other's shape with a 1 at the axis, which keeps its own size there.
    if not _same_off_axis(self, indices, axis):
        self, indices = (
            op.Expand(self, _off_axis(op, indices, axis)),
            op.Expand(indices, _off_axis(op, self, axis)),
        )
    return op.GatherElements(self, indices, axis=axis)


def _same_off_axis(x: Value, y: Value, axis: int) -> bool:
    pairs = [(a, b) for n, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)) if n != axis]
    return all(a is not None and a == b for a, b in pairs)


def _off_axis(op: Op, x: Value, axis: int) -> Value:
    every = sizes(op, x)
    every[axis] = 1
    return vector(op, every)


@aten("aten::nonzero", "aten::argwhere", rule=_INDICES,
      tests=[OpTest("nonzero"), OpTest("argwhere")])  # fmt: skip
def nonzero(op: Op, self: Value) -> Value:
    """The positions of what is not zero, as rows."""
    return nonzero_matrix(op, self)


nonzero.on_complex(nonzero.body)


@aten("aten::nonzero_numpy", rule=_INDICES, tests=[OpTest("nonzero")], complex="same")
def nonzero_numpy(op: Op, self: Value) -> list[Value]:
    """The positions of what is not zero, an index tensor for each dimension."""
    return nonzero_rows(op, self)


@aten("aten::where", rule=_INDICES, untested="OpInfos give three arguments", complex="same")
def where(op: Op, condition: Value) -> list[Value]:
    """The positions of what is not zero, an index tensor for each dimension."""
    return nonzero_rows(op, condition)


@aten("aten::nonzero_static", rule=_INDICES)  # fmt: skip
def nonzero_static(op: Op, self: Value, *, size: Size, fill_value: int = -1) -> Value:
    """The first `size` positions of what is not zero; rows that are missing are filled."""
    rank = real_part(self).rank
    rows = nonzero_matrix(op, self)
    filling = full(op, [size, rank], fill_value, DType.INT64)
    return op.Slice(op.Concat(rows, filling, axis=0), [0], vector(op, [size]), [0])


nonzero_static.on_complex(nonzero_static.body)


@aten("aten::masked_select", rule=like(), complex="parts")
def masked_select(op: Op, self: Value, mask: Value) -> Value:
    """The elements where a mask is true, in one dimension."""
    self, mask = expand_together(op, [self, mask_of(op, mask)])
    return compress(op, self if self.rank else flat(op, self), flat(op, mask))


# torch.masked has functions in Python, which fill what a mask leaves out and go on from there.
_FUNCTIONS = (
    "sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "mean", "median",
    "norm", "std", "softmax", "softmin", "normalize", "logaddexp",
)  # fmt: skip
_HALF = {"float16": Tol(3e-3, 1e-3), "bfloat16": Tol(3e-2, 1e-2)}
_MASKED = (
    *(OpTest(f"masked.{name}") for name in _FUNCTIONS),
    # A small rest of large numbers has few digits, in torch as in ours; a variance is several
    # operators, each of which rounds.
    *(OpTest(f"masked.{name}", tol=_HALF) for name in ("log_softmax", "logsumexp", "var")),
)


@aten(
    "aten::masked_fill.Scalar",
    "aten::masked_fill.Tensor",
    rule=into("value"),
    complex="parts",
    tests=[OpTest("masked_fill"), *_MASKED],
)
def masked_fill(op: Op, self: Value, mask: Value, value: Number | Value) -> Value:
    """One number where a mask is true."""
    return op.Where(mask_of(op, mask), scalar(op, value, self.onnx_dtype), self)
