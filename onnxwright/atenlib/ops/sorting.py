"""Sorting and top k."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.helpers.constants import cast, full, vector
from onnxwright.atenlib.helpers.sizes import axis_of, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.argmax import long_type
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

# Where elements are equal, torch says nothing about which index it gives (and gives any).
TIES = XFail(
    "torch's index among equal elements is not specified",
    dtypes=("bfloat16", "float16", "int8", "uint8", "int16", "int32", "int64", "bool"),
    sometimes=True,
)

_UNSTABLE = XFail(
    "torch's sort of many elements is not stable; ours always is",
    matcher=lambda s: s.input.numel() > 1000,
    sometimes=True,
)


def top(op: Op, x: Value, k: Size, axis: int, largest: bool) -> tuple[Any, Any]:
    """The first k elements along an axis in order, and their indices; equal ones keep their order.

    ONNX has no order for NaN, and the order of ONNX Runtime is not documented.

    Args:
        axis: the axis, counted from the front.
        largest: from the largest down, else from the smallest up.

    Returns:
        Values of the type of `x`, INT64 indices.
    """
    dtype = x.onnx_dtype
    if dtype.is_bool:
        x = op.Cast(x, to=DType.UINT8)
    elif dtype is DType.BFLOAT16:
        x = op.Cast(x, to=DType.FLOAT)
    values, indices = op.TopK(x, vector(op, [k]), axis=axis, largest=int(largest))
    return cast(op, values, dtype), indices


def sorted_along(op: Op, x: Value, dim: int, descending: bool) -> tuple[Any, Any]:
    """All elements along an axis in order, and their indices.

    Args:
        dim: the axis, may count from the end.
        descending: from the largest down.

    Returns:
        Values of the type and INT64 indices, of the shape of `x`.
    """
    if x.rank == 0:
        return x, full(op, [], 0, DType.INT64)
    axis = axis_of(dim, x.rank)
    return top(op, x, size(op, x, axis), axis, descending)


@aten("aten::sort", "aten::sort.stable", rule=like(), tests=[OpTest("sort", xfail=[_UNSTABLE])])
def sort(op: Op, self: Value, dim: int = -1, descending: bool = False) -> tuple[Value, ...]:
    """The elements along an axis in order, and their indices; always stable."""
    return sorted_along(op, self, dim, descending)


@aten("aten::msort", rule=like())
def msort(op: Op, self: Value) -> Any:
    """The elements along the first axis in order."""
    return sorted_along(op, self, 0, False)[0]


@aten(
    "aten::argsort",
    "aten::argsort.stable",
    rule=custom(long_type),
    tests=[OpTest("argsort", xfail=[_UNSTABLE])],
)
def argsort(op: Op, self: Value, dim: int = -1, descending: bool = False) -> Any:
    """The indices that put the elements along an axis in order; always stable."""
    return sorted_along(op, self, dim, descending)[1]


@aten("aten::topk", rule=like(), tests=[OpTest("topk", xfail=[TIES])])
def topk(
    op: Op, self: Value, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Value, ...]:
    """The k largest or smallest elements along an axis in order, and their indices."""
    if self.rank == 0:
        if k == 1:
            return self, full(op, [], 0, DType.INT64)
        values, indices = top(op, op.Unsqueeze(self, [0]), k, 0, largest)
        return values, indices
    return top(op, self, k, axis_of(dim, self.rank), largest)
