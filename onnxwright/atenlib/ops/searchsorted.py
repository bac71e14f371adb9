"""Searching in sorted sequences, and membership."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.reduce import reduce
from onnxwright.atenlib.helpers.shape import flat
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
    """How many elements of sorted sequences come before each of `x`; all of them before NaN.

    Args:
        sequence: `[..., n]` or `[n]`, sorted.
        x: `[..., m]`, or of any shape where there is one sequence.
        right: whether equal elements come before.

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
    places = place_in(op, cast(op, sequence, common), cast(op, x, common), right)
    return op.Cast(places, to=DType.INT32) if out_int32 else places


@aten("aten::searchsorted.Tensor", "aten::searchsorted.Scalar", rule=custom())
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


@aten("aten::isin.Tensor_Tensor", rule=custom(_truth))
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
    is_in = reduce(op, "ReduceMax", equal, [elements.rank], False)
    return op.Not(is_in) if invert else is_in


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
