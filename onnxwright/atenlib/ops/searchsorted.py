"""Searching in sorted sequences, distinct elements, counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, iota, scalar, vector
from onnxwright.atenlib.helpers.reduce import reduce
from onnxwright.atenlib.helpers.shape import flat, slice_axis
from onnxwright.atenlib.helpers.sizes import axis_of, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Arguments, Number, Op, Value, is_value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import promote_types

_REDRAWN = XFail(
    "boundaries that are drawn again in another size are in no order",
    modes=("dynamic",),
    sometimes=True,
)


def _truth(arguments: Arguments) -> DType:
    return DType.BOOL


def place_in(op: Op, sequence: Any, x: Value, right: bool) -> Value:
    """How many elements of sorted sequences stand before each of `x`; all of them before NaN.

    Args:
        op: the operators.
        sequence: `[..., n]` or `[n]`, sorted.
        x: `[..., m]`, or of any shape where there is one sequence.
        right: whether equal elements stand before.

    Returns:
        INT64 of the shape of `x`.
    """
    if sequence.rank > 1:
        sequence = op.Unsqueeze(sequence, [-2])
    compare = op.Greater if right else op.GreaterOrEqual
    before = op.Not(compare(sequence, op.Unsqueeze(x, [-1])))
    return reduce(op, "ReduceSum", op.Cast(before, to=DType.INT64), [x.rank], False)


def _search(
    op: Op, sequence: Any, x: Value | Number, out_int32: bool, right: bool, side: Any, sorter: Any
) -> Value:
    if not is_value(x):
        x = scalar(op, x, sequence.onnx_dtype)
    common = promote_types(sequence.onnx_dtype, x.onnx_dtype)
    if common.is_bool:
        common = DType.UINT8
    if sorter is not None:
        sequence = op.GatherElements(sequence, sorter, axis=-1)
    if side is not None:
        right = side == "right"
    found = place_in(op, cast(op, sequence, common), cast(op, x, common), right)
    return op.Cast(found, to=DType.INT32) if out_int32 else found


@aten(
    "aten::searchsorted.Tensor",
    "aten::searchsorted.Scalar",
    rule=custom(),
    tests=[OpTest("searchsorted")],
)
def searchsorted(
    op: Op,
    sorted_sequence: Value,
    self: Value | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    """Where elements would be put in so that sequences stay sorted."""
    return _search(op, sorted_sequence, self, out_int32, right, side, sorter)


@aten(
    "aten::bucketize.Tensor",
    "aten::bucketize.Scalar",
    rule=custom(),
    tests=[OpTest("bucketize", xfail=[_REDRAWN])],
)
def bucketize(
    op: Op, self: Value | Number, boundaries: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
    """Between which boundaries elements lie."""
    return _search(op, boundaries, self, out_int32, right, None, None)


@aten(
    "aten::isin.Tensor_Tensor",
    rule=custom(_truth),
    tests=[OpTest("isin")],
)
def isin(
    op: Op,
    elements: Value,
    test_elements: Value,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Value:
    """Whether each element is among others."""
    return _is_in(op, elements, test_elements, invert)


def _is_in(op: Op, elements: Any, others: Any, invert: bool) -> Value:
    if not is_value(others):
        others = scalar(op, others, elements.onnx_dtype)
    common = promote_types(elements.onnx_dtype, others.onnx_dtype)
    others = flat(op, cast(op, others, common))
    equal = op.Equal(op.Unsqueeze(cast(op, elements, common), [-1]), others)
    found = reduce(op, "ReduceMax", equal, [elements.rank], False)
    return op.Not(found) if invert else found


@aten(
    "aten::isin.Scalar_Tensor",
    rule=custom(_truth),
    untested="the samples of isin have tensors",
)
def isin_scalar(
    op: Op,
    element: Number,
    test_elements: Value,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Value:
    """Whether a number is among elements."""
    one = scalar(op, element, test_elements.onnx_dtype)
    return _is_in(op, one, test_elements, invert)


@aten(
    "aten::isin.Tensor_Scalar",
    rule=custom(_truth),
    untested="the samples of isin have tensors",
)
def isin_one(
    op: Op,
    elements: Value,
    test_element: Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Value:
    """Whether each element is a number."""
    return _is_in(op, elements, test_element, invert)


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


@aten(
    "aten::unique_consecutive",
    rule=custom(),
    tests=[OpTest("unique_consecutive")],
)
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
