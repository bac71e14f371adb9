"""Counting elements: by value, and in histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, full_like, iota, scalar, vector
from onnxwright.atenlib.helpers.reduce import reduce
from onnxwright.atenlib.helpers.shape import flat
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.searchsorted import place_in
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

_COARSE = XFail(
    "torch finds the place of an element in half precision; elements at edges fall elsewhere",
    dtypes=("float16", "bfloat16"),
    sometimes=True,
)

_UNSORTED = XFail(
    "the samples have edges in no order, among which torch's binary search finds any place",
    matcher=lambda s: isinstance(s.args[0], list),
    sometimes=True,
)


def _tally(op: Op, places: Value, weights: Any, count: Size) -> Value:
    """The sums of weights by place.

    Args:
        places: INT64 `[n]`.
        weights: `[n]`.

    Returns:
        A value `[count]` of the type of the weights.
    """
    zeros = full(op, [count], 0, weights.onnx_dtype)
    return op.ScatterElements(zeros, places, weights, axis=0, reduction="add")


@aten("aten::bincount", rule=custom())
def bincount(op: Op, self: Value, weights: Value | None = None, minlength: Size = 0) -> Value:
    """How often each of 0, 1, ... comes, or the sum of the weights where it does."""
    places = cast(op, self, DType.INT64)
    least = op.Sub(scalar(op, minlength, DType.INT64), 1)
    every = op.Concat(places, op.Unsqueeze(least, [0]), axis=0)
    count = op.Add(reduce(op, "ReduceMax", every, [0]), 1)
    if weights is None:
        return _tally(op, places, full_like(op, places, 1), count)
    kept = DType.FLOAT if weights.onnx_dtype is DType.FLOAT else DType.DOUBLE
    return _tally(op, places, cast(op, weights, kept), count)


def _span(op: Op, x: Value, low: float, high: float, apart: float) -> tuple[Any, Any]:
    """The limits of a histogram: as given, or those of the data; equal ones are moved apart."""
    dtype = x.onnx_dtype
    if low != high:
        return scalar(op, low, dtype), scalar(op, high, dtype)
    if 0 in x.shape:
        least, most = scalar(op, low, dtype), scalar(op, high, dtype)
    else:
        axes = list(range(x.rank))
        least, most = reduce(op, "ReduceMin", x, axes), reduce(op, "ReduceMax", x, axes)
    same = op.Equal(least, most)
    return (
        op.Where(same, op.Sub(least, apart), least),
        op.Where(same, op.Add(most, apart), most),
    )


@aten("aten::histc", rule=like(), tests=[OpTest("histc", xfail=[_COARSE])])
def histc(op: Op, self: Value, bins: int = 100, min: Number = 0, max: Number = 0) -> Value:
    """How many elements lie in each of equal parts of a range; the data's own if it is empty."""
    x = flat(op, self)
    if not x.onnx_dtype.is_float:
        x = op.Cast(x, to=DType.DOUBLE)
    work = DType.FLOAT if x.onnx_dtype in (DType.FLOAT16, DType.BFLOAT16) else x.onnx_dtype
    x = cast(op, x, work)
    least, most = _span(op, x, float(min), float(max), 1.0)
    inside = op.And(op.GreaterOrEqual(x, least), op.LessOrEqual(x, most))
    away = op.Where(inside, op.Sub(x, least), scalar(op, 0, work))
    place = op.Cast(op.Div(op.Mul(away, float(bins)), op.Sub(most, least)), to=DType.INT64)
    place = op.Min(place, bins - 1)
    return cast(op, _tally(op, place, op.Cast(inside, to=work), bins), self.onnx_dtype)


def _edges(op: Op, least: Any, most: Any, bins: int, dtype: DType) -> Value:
    """The limits of equal parts, counted from the nearer end as torch's linspace does."""
    step = op.Div(op.Sub(most, least), float(bins))
    steps = iota(op, bins + 1, dtype)
    up = op.Add(least, op.Mul(steps, step))
    down = op.Sub(most, op.Mul(op.Sub(float(bins), steps), step))
    return op.Where(op.Less(steps, (bins + 1) // 2), up, down)


def _bin_of(op: Op, x: Value, edges: Any) -> tuple[Any, Any]:
    """The part each element is in, and whether it is in any; the last part has its upper edge."""
    count = edges.shape[0]
    if not isinstance(count, int):
        unsupported("a histogram with a dynamic number of bins")
    place = op.Sub(place_in(op, edges, x, True), 1)
    at_end = op.Equal(x, op.Gather(edges, count - 1, axis=0))
    inside = op.Or(op.And(op.GreaterOrEqual(place, 0), op.Less(place, count - 1)), at_end)
    return op.Max(op.Min(place, count - 2), 0), inside


def _density(op: Op, hist: Any, edges: Sequence[Any]) -> Value:
    """Counts over their sum and the sizes of the parts."""
    density = op.Div(hist, reduce(op, "ReduceSum", hist, list(range(hist.rank))))
    for axis, edge in enumerate(edges):
        last = edge.shape[0] - 1
        widths = op.Sub(
            op.Slice(edge, [1], [last + 1], [0]),
            op.Slice(edge, [0], [last], [0]),
        )
        after = hist.rank - 1 - axis
        density = op.Div(
            density, op.Unsqueeze(widths, list(range(1, after + 1))) if after else widths
        )
    return density


def _histogram(
    op: Op, columns: Sequence[Any], edges: Sequence[Any], weight: Value | None, density: bool
) -> Value:
    """Counts of points in boxes; a column holds one coordinate of all points."""
    dtype = columns[0].onnx_dtype
    counts = [edge.shape[0] - 1 for edge in edges]
    index: Any = None
    inside: Any = None
    for x, edge, count in zip(columns, edges, counts, strict=True):
        place, here = _bin_of(op, x, edge)
        index = place if index is None else op.Add(op.Mul(index, count), place)
        inside = here if inside is None else op.And(inside, here)
    weights = op.Cast(inside, to=dtype)
    if weight is not None:
        weights = op.Where(inside, flat(op, weight), scalar(op, 0, dtype))
    total = int(np.prod(counts))
    hist = op.Reshape(_tally(op, index, weights, total), vector(op, counts))
    return _density(op, hist, edges) if density else hist


@aten("aten::histogram.bins_tensor", rule=like())
def histogram_bins(
    op: Op, self: Value, bins: Value, *, weight: Value | None = None, density: bool = False
) -> tuple[Value, ...]:
    """How many elements (or what weight) lie between neighbouring edges, and the edges."""
    return _histogram(op, [flat(op, self)], [bins], weight, density), bins


@aten("aten::histogram.bin_ct", rule=like())
def histogram_count(
    op: Op,
    self: Value,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Value | None = None,
    density: bool = False,
) -> tuple[Value, ...]:
    """How many elements (or what weight) lie in equal parts of a range, and their edges."""
    x = flat(op, self)
    low, high = range or (0.0, 0.0)
    least, most = _limits(op, x, low, high, range)
    edges = _edges(op, least, most, bins, x.onnx_dtype)
    return _histogram(op, [x], [edges], weight, density), edges


def _limits(op: Op, x: Value, low: float, high: float, limits: Any) -> tuple[Any, Any]:
    """The limits along one coordinate; equal ones are moved apart."""
    if limits is not None and low == high:
        low, high = low - 0.5, high + 0.5
        return scalar(op, low, x.onnx_dtype), scalar(op, high, x.onnx_dtype)
    if 0 in x.shape and limits is None:
        return scalar(op, 0, x.onnx_dtype), scalar(op, 1, x.onnx_dtype)
    return _span(op, x, float(low), float(high), 0.5)


def _columns(op: Op, x: Value) -> list[Any]:
    count = x.shape[-1]
    if not isinstance(count, int):
        unsupported("points with a dynamic number of coordinates")
    rows = op.Reshape(x, op.constant(np.array([-1, count], np.int64)))
    return [op.Gather(rows, n, axis=1) for n in np.arange(count).tolist()]


@aten(
    "aten::histogramdd.TensorList_bins",
    rule=like(),
    tests=[OpTest("histogramdd", xfail=[_UNSORTED])],
)
def histogramdd_bins(
    op: Op,
    self: Value,
    bins: Sequence[Value],
    range: Sequence[float] | None = None,
    weight: Value | None = None,
    density: bool = False,
) -> tuple[Value, list[Value]]:
    """How many points lie in boxes between edges, and the edges."""
    return _histogram(op, _columns(op, self), bins, weight, density), list(bins)


@aten(
    "aten::histogramdd",
    "aten::histogramdd.int_bins",
    rule=like(),
    tests=[OpTest("histogramdd", xfail=[_UNSORTED])],
)
def histogramdd(
    op: Op,
    self: Value,
    bins: Sequence[int] | int,
    range: Sequence[float] | None = None,
    weight: Value | None = None,
    density: bool = False,
) -> tuple[Value, list[Value]]:
    """How many points lie in equal boxes of a range, and the edges."""
    columns = _columns(op, self)
    counts = [bins] * len(columns) if isinstance(bins, int) else list(bins)
    edges = []
    for n, (x, count) in enumerate(zip(columns, counts, strict=True)):
        low, high = range[2 * n : 2 * n + 2] if range else (0.0, 0.0)
        least, most = _limits(op, x, low, high, range)
        edges.append(_edges(op, least, most, count, x.onnx_dtype))
    return _histogram(op, columns, edges, weight, density), edges
