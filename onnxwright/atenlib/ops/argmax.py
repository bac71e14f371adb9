"""Where the extremes are, and extremes with their places."""

from __future__ import annotations

from onnxwright.atenlib.helpers.constants import full
from onnxwright.atenlib.helpers.reduce import extreme, nan_anywhere, reduced_axes
from onnxwright.atenlib.helpers.shape import flat, reshape
from onnxwright.atenlib.helpers.sizes import axis_of
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType


def place_of_extreme(op: Op, x: Value, axis: int, keepdim: bool, largest: bool) -> Value:
    """The index of the first largest or smallest element along an axis; of the first NaN if any.

    Args:
        axis: the axis, counted from the front.
        keepdim: whether it stays, with size 1.
        largest: the largest, else the smallest.

    Returns:
        INT64 indices.
    """
    search = op.ArgMax if largest else op.ArgMin
    keep = int(keepdim)
    if x.onnx_dtype.is_bool:
        x = op.Cast(x, to=DType.UINT8)
    places = search(x, axis=axis, keepdims=keep)
    if not x.onnx_dtype.is_float:
        return places
    missing = op.Cast(op.IsNaN(x), to=DType.UINT8)
    first = op.ArgMax(missing, axis=axis, keepdims=keep)
    return op.Where(nan_anywhere(op, x, [axis], keepdim), first, places)


def _place(op: Op, x: Value, dim: int | None, keepdim: bool, largest: bool) -> Value:
    rank = x.rank
    if rank == 0:
        return full(op, [], 0, DType.INT64)
    if dim is None:
        place = place_of_extreme(op, flat(op, x), 0, False, largest)
        return reshape(op, place, [1] * rank) if keepdim else place
    return place_of_extreme(op, x, axis_of(dim, rank), keepdim, largest)


def long_type(arguments: Arguments) -> DType:
    """Torch gives indices as INT64."""
    return DType.INT64


@aten("aten::argmax", rule=custom(long_type))
def argmax(op: Op, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The index of the first largest element, of all elements or along an axis."""
    return _place(op, self, dim, keepdim, largest=True)


@aten("aten::argmin", rule=custom(long_type))
def argmin(op: Op, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The index of the first smallest element, of all elements or along an axis."""
    return _place(op, self, dim, keepdim, largest=False)


@aten("aten::max.dim", rule=like(), tests=[OpTest("max:reduction_with_dim")])
def max_dim(op: Op, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, ...]:
    """The largest elements along an axis and their indices."""
    values = extreme(op, self, reduced_axes(dim, self.rank), keepdim, largest=True)
    return values, _place(op, self, dim, keepdim, largest=True)


@aten("aten::min.dim", rule=like(), tests=[OpTest("min:reduction_with_dim")])
def min_dim(op: Op, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, ...]:
    """The smallest elements along an axis and their indices."""
    values = extreme(op, self, reduced_axes(dim, self.rank), keepdim, largest=False)
    return values, _place(op, self, dim, keepdim, largest=False)
