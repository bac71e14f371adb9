"""Order statistics: medians, quantiles, the k-th smallest, the most frequent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, number, scalar
from onnxwright.atenlib.helpers.reduce import nan_anywhere, reduce
from onnxwright.atenlib.helpers.shape import flat, from_last, iota_along, slice_axis, to_last
from onnxwright.atenlib.helpers.sizes import axis_of, size
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.sorting import TIES, sorted_along, top
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value, is_value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


def _finish(op: Op, x: Value, axis: int, keepdim: bool) -> Value:
    """Drop an axis of size one unless it is kept."""
    return x if keepdim else op.Squeeze(x, [axis])


def _alone(op: Op, x: Value) -> tuple[Any, Any]:
    """A statistic of a tensor without dimensions: itself, at 0."""
    return x, full(op, [], 0, DType.INT64)


@aten("aten::kthvalue", rule=like(), tests=[OpTest("kthvalue", xfail=[TIES])])
def kthvalue(
    op: Op, self: Value, k: Size, dim: int = -1, keepdim: bool = False
) -> tuple[Value, ...]:
    """The k-th smallest element along an axis and its index."""
    if self.rank == 0:
        return _alone(op, self)
    axis = axis_of(dim, self.rank)
    both = top(op, self, k, axis, largest=False)
    values, indices = (slice_axis(op, x, axis, -1, None) for x in both)
    return _finish(op, values, axis, keepdim), _finish(op, indices, axis, keepdim)


def _half(op: Op, n: Size) -> Size:
    """The place of the lower median among n elements."""
    return (n - 1) // 2 if isinstance(n, int) else op.Div(op.Sub(n, 1), 2)


def _median(op: Op, x: Value, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """The lower median along an axis and its index; the first NaN where there is one."""
    place = _half(op, size(op, x, axis))
    k = place + 1 if isinstance(place, int) else op.Add(place, 1)
    both = top(op, x, k, axis, largest=False)
    values, indices = (slice_axis(op, v, axis, -1, None) for v in both)
    if x.onnx_dtype.is_float:
        bad = nan_anywhere(op, x, [axis], True)
        first = op.ArgMax(op.Cast(op.IsNaN(x), to=DType.UINT8), axis=axis, keepdims=1)
        values = op.Where(bad, scalar(op, math.nan, x.onnx_dtype), values)
        indices = op.Where(bad, first, indices)
    return _finish(op, values, axis, keepdim), _finish(op, indices, axis, keepdim)


def _nanmedian(op: Op, x: Value, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """The lower median along an axis of what is not NaN, and its index."""
    if not x.onnx_dtype.is_float:
        return _median(op, x, axis, keepdim)
    missing = op.IsNaN(x)
    last = op.Where(missing, scalar(op, math.inf, x.onnx_dtype), x)
    values, indices = sorted_along(op, last, axis, False)
    present = op.Cast(op.Not(missing), to=DType.INT64)
    count = reduce(op, "ReduceSum", present, [axis], True)
    place = op.Div(op.Sub(op.Max(count, 1), 1), 2)
    values = op.GatherElements(values, place, axis=axis)
    indices = op.GatherElements(indices, place, axis=axis)
    values = op.Where(op.Equal(count, 0), scalar(op, math.nan, x.onnx_dtype), values)
    return _finish(op, values, axis, keepdim), _finish(op, indices, axis, keepdim)


def _medians(name: str, function: Callable[..., tuple[Any, ...]], one: str, along: str) -> None:
    """Register a median of all elements, and along an axis."""

    def of_all(op: Op, self: Value) -> Any:
        if self.shape and 0 in self.shape:
            return full(op, [], math.nan, self.onnx_dtype)
        return function(op, flat(op, self), 0, False)[0]

    def of_axis(op: Op, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, ...]:
        if self.rank == 0:
            return _alone(op, self)
        return function(op, self, axis_of(dim, self.rank), keepdim)

    tests = [OpTest(name, xfail=[TIES])]
    aten(f"aten::{name}", rule=like(), tests=tests, doc=one)(of_all)
    aten(f"aten::{name}.dim", rule=like(), tests=tests, doc=along)(of_axis)


_medians(
    "median", _median, "The lower median of all elements; NaN if there is one.",
    "The lower median along an axis and its index; the first NaN where there is one.",
)  # fmt: skip
_medians(
    "nanmedian", _nanmedian, "The lower median of all elements that are not NaN.",
    "The lower median along an axis of what is not NaN, and its index.",
)  # fmt: skip


@aten("aten::mode", rule=like(), tests=[OpTest("mode", xfail=[TIES])])
def mode(op: Op, self: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    """The most frequent element along an axis (the smallest of them) and its last index."""
    if self.rank == 0:
        return _alone(op, self)
    axis = axis_of(dim, self.rank)
    x = op.Cast(self, to=DType.UINT8) if self.onnx_dtype.is_bool else self
    ordered = to_last(op, sorted_along(op, x, axis, False)[0], axis)
    equal = op.Equal(op.Unsqueeze(ordered, [-1]), op.Unsqueeze(ordered, [-2]))
    often = reduce(op, "ReduceSum", op.Cast(equal, to=DType.INT64), [x.rank], False)
    where = op.ArgMax(often, axis=-1, keepdims=1)
    values = from_last(op, op.GatherElements(ordered, where, axis=-1), axis)
    none = scalar(op, -1, DType.INT64)
    places = op.Where(op.Equal(x, values), iota_along(op, x, axis), none)
    indices = reduce(op, "ReduceMax", places, [axis], True)
    values = cast(op, values, self.onnx_dtype)
    return _finish(op, values, axis, keepdim), _finish(op, indices, axis, keepdim)


def _quantile(
    op: Op,
    x: Value,
    q: Value | float,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    skip: bool,
) -> Value:
    """Quantiles along an axis (of all elements where it is None).

    The axis of `q`, if it has one, becomes the first of the result.
    """
    rank, dtype = x.rank, x.onnx_dtype
    axis = axis_of(dim, rank) if dim is not None else 0
    rows = flat(op, x) if dim is None or rank == 0 else to_last(op, x, axis)
    last = rows.rank - 1
    missing = op.IsNaN(rows)
    ordered, _ = sorted_along(op, op.Where(missing, scalar(op, math.inf, dtype), rows), -1, False)
    several = is_value(q) and q.rank == 1
    points = q if several else op.Unsqueeze(scalar(op, q, dtype), [0])
    if skip:
        present = op.Cast(op.Not(missing), to=dtype)
        count = reduce(op, "ReduceSum", present, [last], True)
        ranks = op.Max(op.Mul(points, op.Sub(count, 1)), number(0, dtype))
    else:
        ranks = op.Mul(points, op.Sub(scalar(op, size(op, rows, last), dtype), 1))
    quantiles = _between(op, ordered, ranks, interpolation)
    bad = op.Equal(count, 0) if skip else nan_anywhere(op, rows, [last], True)
    quantiles = op.Where(bad, scalar(op, math.nan, dtype), quantiles)
    return _shaped(op, quantiles, rank, axis, dim is None, several, keepdim)


def _between(op: Op, ordered: Any, ranks: Any, interpolation: str) -> Value:
    """The elements at places along the last axis, places that may lie between two."""

    def at(places: Value) -> Value:
        index = op.Cast(places, to=DType.INT64)
        if index.rank == 1:
            return op.Gather(ordered, index, axis=-1)
        return op.GatherElements(ordered, index, axis=-1)

    if interpolation == "lower":
        return at(op.Floor(ranks))
    if interpolation == "higher":
        return at(op.Ceil(ranks))
    if interpolation == "nearest":
        return at(op.Round(ranks))
    below = op.Floor(ranks)
    low, high = at(below), at(op.Ceil(ranks))
    dtype = ordered.onnx_dtype
    if interpolation == "midpoint":
        share = op.Where(op.Equal(below, ranks), scalar(op, 0, dtype), scalar(op, 0.5, dtype))
    elif interpolation == "linear":
        share = op.Sub(ranks, below)
    else:
        unsupported(f"interpolation `{interpolation}` is not known")
    width = op.Sub(high, low)
    # As torch's lerp: exact at both ends.
    near = op.Add(low, op.Mul(share, width))
    far = op.Sub(high, op.Mul(width, op.Sub(1, share)))
    return op.Where(op.Less(share, 0.5), near, far)


def _shaped(
    op: Op, quantiles: Any, rank: int, axis: int, of_all: bool, several: bool, keepdim: bool
) -> Value:
    """Move the axis of the quantiles to the front, and put the reduced one back if it is kept."""
    if several:
        last = quantiles.rank - 1
        moved = op.Transpose(quantiles, perm=[last, *range(last)]) if last else quantiles
        kept = [n + 1 for n in range(rank)] if of_all else [axis + 1]
        return op.Unsqueeze(moved, kept) if keepdim and rank else moved
    if not keepdim or not rank:
        return op.Squeeze(quantiles, [-1])
    if of_all:
        return op.Reshape(quantiles, op.constant(np.ones(rank, np.int64)))
    return from_last(op, quantiles, axis)


def _register(name: str, doc: str, *, skip: bool) -> None:
    """Register quantiles, of all elements or of those that are not NaN."""

    def body(
        op: Op,
        self: Value,
        q: Value | float,
        dim: int | None = None,
        keepdim: bool = False,
        interpolation: str = "linear",
    ) -> Value:
        return _quantile(op, self, q, dim, keepdim, interpolation, skip=skip)

    names = (f"aten::{name}", f"aten::{name}.scalar")
    aten(*names, rule=like(), tests=[OpTest(name)], doc=doc)(body)


_register(
    "quantile", "The elements below which given shares of all lie; NaN where there is one.",
    skip=False,
)  # fmt: skip
_register(
    "nanquantile", "The elements below which given shares of those that are not NaN lie.", skip=True
)
