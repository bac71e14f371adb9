"""Functions of torchvision on regions of images: nms, pooling of regions, deformable convolution.

torchvision's own tests need its package; these are held to plain formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import INT64_MAX, cast, iota, scalar, vector
from onnxwright.atenlib.helpers.runtime import is_for_onnxruntime
from onnxwright.atenlib.helpers.sizes import known_sizes, product, size, sizes
from onnxwright.atenlib.op import TABLE, aten, unsupported
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

_UNTESTED = "torchvision has no OpInfos; tests/atenlib/test_torchvision.py compares"
_DEFORM_CONV_SINCE = 19
# ONNX Runtime's RoiAlign and MaxRoiPool end at opset 21.
_ROI_OPS_UNTIL = 21


@aten("torchvision::nms", rule=custom(lambda _: DType.INT64), untested=_UNTESTED)
def nms(op: Op, dets: Value, scores: Value, iou_threshold: float) -> Any:
    """The boxes that no box of a higher score overlaps by more than a threshold."""
    if not 0 <= iou_threshold <= 1:
        unsupported(f"iou_threshold={iou_threshold}; it must be from 0 to 1")
    boxes = op.Unsqueeze(cast(op, dets, DType.FLOAT), [0])
    ranks = op.Unsqueeze(cast(op, scores, DType.FLOAT), [0, 1])
    most = op.constant(np.array([INT64_MAX]))
    threshold = op.constant(np.array([iou_threshold], np.float32))
    kept = op.NonMaxSuppression(boxes, ranks, most, threshold)
    return op.Squeeze(op.Slice(kept, [2], [3], [1]), [1])


def _column(op: Op, x: Value, start: int, end: int) -> Value:
    return op.Slice(x, [start], [end], [1])


def _batches(op: Op, rois: Value) -> Value:
    """Which image each region is of."""
    return op.Cast(op.Squeeze(_column(op, rois, 0, 1), [1]), to=DType.INT64)


def _known(pooled_height: Any, pooled_width: Any) -> tuple[int, int]:
    if not isinstance(pooled_height, int) or not isinstance(pooled_width, int):
        unsupported("a pooled size known only at run time")
    return pooled_height, pooled_width


def _aligned(
    op: Op, x: Value, rois: Value, scale: float, pooled: tuple[int, int], ratio: int, aligned: bool
) -> Any:
    if op.version > _ROI_OPS_UNTIL and is_for_onnxruntime(op):
        down, across = (
            _weights(op, x, rois, scale, 2 - n, pooled[n], ratio, aligned) for n in (0, 1)
        )
        (pooled_rows,) = _each(
            op,
            rois,
            [down, algebra.transpose(op, across)],
            lambda b, u, v: [op.MatMul(u, op.MatMul(op.Gather(x, b, axis=0), v))],
        )
        return pooled_rows
    return op.RoiAlign(
        x,
        _column(op, rois, 1, 5),
        _batches(op, rois),
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
        mode="avg",
        output_height=pooled[0],
        output_width=pooled[1],
        sampling_ratio=max(ratio, 0),
        spatial_scale=float(scale),
    )


def _each(
    op: Op, rois: Value, parts: Sequence[Any], one: Callable[..., Sequence[Any]]
) -> list[Any]:
    """What a function of the image's number and a part of each gives for each region.

    ONNX Runtime runs no Scan without iterations: where there may be no region, there is one more.
    """
    scanned = [_batches(op, rois), *parts]
    count = size(op, rois, 0)
    more = not isinstance(count, int) or not count
    if more:
        scanned = [op.Pad(x, [1] + [0] * (2 * len(x.shape) - 1)) for x in scanned]

    def body(*items: Any) -> Any:
        rows = one(*items)
        return rows[0] if len(rows) == 1 else tuple(rows)

    rows = op.Scan(*scanned, body=body, num_scan_inputs=len(scanned))
    results = list(rows) if isinstance(rows, tuple) else [rows]
    return [op.Slice(r, [1], [INT64_MAX], [0]) for r in results] if more else results


def _weights(
    op: Op, x: Value, rois: Value, scale: float, axis: int, count: int, ratio: int, aligned: bool
) -> Value:
    """What each line of an image counts in each bin of each region, `[K, count, length]`.

    Bilinear interpolation, the bins and their means are products of one factor for each axis.
    """
    dtype = x.onnx_dtype
    whole = size(op, x, 4 - axis)
    length = cast(op, scalar(op, whole, DType.INT64), dtype)
    start, end = (op.Mul(_column(op, rois, n, n + 1), float(scale)) for n in (axis, axis + 2))
    extent = op.Sub(end, start)
    if aligned:
        start = op.Sub(start, 0.5)
    else:
        extent = op.Max(extent, 1.0)
    step = op.Div(extent, float(count))
    if ratio > 0:
        points: Any = op.constant(np.arange(ratio, dtype=dtype.numpy))
        grid = op.constant(np.array([[[ratio]]], dtype.numpy))
    else:
        steps_up = op.Ceil(step)  # [K, 1]
        most = op.Cast(
            op.ReduceMax(op.Concat(steps_up, [[1.0]], axis=0), keepdims=0), to=DType.INT64
        )
        points, grid = iota(op, most, dtype), op.Unsqueeze(op.Max(steps_up, 1.0), [2])
    inner = op.Div(op.Add(points, 0.5), grid)  # [K, 1, points]
    bins = op.constant(np.arange(count, dtype=dtype.numpy).reshape(1, count, 1))
    offset = op.Mul(op.Add(bins, inner), op.Unsqueeze(step, [2]))
    place = op.Add(op.Unsqueeze(start, [2]), offset)  # [K, count, points]
    used = op.And(op.GreaterOrEqual(place, -1.0), op.LessOrEqual(place, length))
    if ratio <= 0:
        used = op.And(used, op.Less(points, op.Unsqueeze(steps_up, [2])))
    near = op.Unsqueeze(op.Min(op.Max(place, 0.0), op.Sub(length, 1.0)), [3])
    tent = op.Max(op.Sub(1.0, op.Abs(op.Sub(near, iota(op, whole, dtype)))), 0.0)
    kept = op.Mul(tent, op.Unsqueeze(op.Cast(used, to=dtype), [3]))
    return op.Div(op.ReduceSum(kept, [2], keepdims=0), grid)


@aten("torchvision::roi_align", rule=like("input"), untested=_UNTESTED)
def roi_align(
    op: Op,
    input: Value,
    rois: Value,
    spatial_scale: float,
    pooled_height: Any,
    pooled_width: Any,
    sampling_ratio: int,
    aligned: bool,
) -> Any:
    """Means over a grid of bins in each region, by bilinear interpolation."""
    pooled = _known(pooled_height, pooled_width)
    return _aligned(op, input, rois, spatial_scale, pooled, sampling_ratio, aligned)


def _diagonal(op: Op, sampled: Any, pooled: tuple[int, int]) -> Value:
    """Of `[K, C * bins, h, w]` the bin `b` of the channel `c * bins + b`; `[K, C, h, w]`."""
    bins = pooled[0] * pooled[1]
    count, channels = size(op, sampled, 0), _groups(op, sampled, bins)
    flat = op.Reshape(sampled, vector(op, [count, channels, bins * bins]))
    picked = op.Gather(flat, op.constant(np.arange(bins) * (bins + 1)), axis=2)
    return op.Reshape(picked, vector(op, [count, channels, *pooled]))


def _groups(op: Op, x: Value, bins: int) -> Size:
    channels = size(op, x, 1)
    if isinstance(channels, int):
        return channels // bins
    return op.Div(channels, bins)


def _mapping(op: Op, x: Value, rois: Value, pooled: tuple[int, int]) -> Value:
    """The channel that each bin of a position sensitive pooling is of, INT32."""
    bins = pooled[0] * pooled[1]
    channels = _groups(op, x, bins)
    if isinstance(channels, int):
        numbers = iota(op, channels * bins, DType.INT32)
    else:
        ends = (0, op.Mul(channels, bins), 1)
        numbers = op.Cast(op.Range(*(scalar(op, n, DType.INT64) for n in ends)), to=DType.INT32)
    one = op.Reshape(numbers, vector(op, [1, channels, *pooled]))
    return op.Expand(one, vector(op, [size(op, rois, 0), channels, *pooled]))


@aten("torchvision::ps_roi_align", rule=like("input"), untested=_UNTESTED)
def ps_roi_align(
    op: Op,
    input: Value,
    rois: Value,
    spatial_scale: float,
    pooled_height: Any,
    pooled_width: Any,
    sampling_ratio: int,
) -> Any:
    """As `roi_align`, where each bin has channels of its own; and which channel a bin is of."""
    pooled = _known(pooled_height, pooled_width)
    every = _aligned(op, input, rois, spatial_scale, pooled, sampling_ratio, True)
    return _diagonal(op, every, pooled), _mapping(op, input, rois, pooled)


def _rounded(op: Op, x: Value) -> Value:
    """Rounded half away from zero, as C does."""
    half = op.Floor(op.Add(op.Abs(x), 0.5))
    return op.Mul(op.Sign(x), half)


class _Bins:
    """The first and the last line of the bins of each region along one axis, `[K, bins]`.

    `inside` says for each line whether it is of a bin, `[K, bins, length]`.
    """

    def __init__(
        self, op: Op, rois: Value, scale: float, axis: int, count: int, length: Size, *, last: bool
    ) -> None:
        dtype = rois.onnx_dtype
        ends = [_rounded(op, op.Mul(_column(op, rois, n, n + 1), scale)) for n in (axis, axis + 2)]
        extent = op.Sub(ends[1], ends[0])
        if last:  # the last line of a region is part of it
            extent = op.Add(extent, 1.0)
        step = op.Div(op.Max(extent, 1.0), float(count))
        bins = np.arange(count + 1, dtype=dtype.numpy)
        limit = cast(op, scalar(op, length, DType.INT64), dtype)
        if not last:
            limit = op.Sub(limit, 1.0)

        def clipped(x: Value) -> Value:
            return op.Min(op.Max(op.Add(x, ends[0]), 0.0), limit)

        self.start = clipped(op.Floor(op.Mul(step, op.constant(bins[None, :-1]))))
        self.end = clipped(op.Ceil(op.Mul(step, op.constant(bins[None, 1:]))))
        numbers = iota(op, length, dtype)
        after = op.GreaterOrEqual(numbers, op.Unsqueeze(self.start, [2]))
        self.inside = op.And(after, op.Less(numbers, op.Unsqueeze(self.end, [2])))


@aten("torchvision::ps_roi_pool", rule=like("input"), untested=_UNTESTED)
def ps_roi_pool(
    op: Op, input: Value, rois: Value, spatial_scale: float, pooled_height: Any, pooled_width: Any
) -> Any:
    """Means over bins of whole pixels, where each bin has channels of its own."""
    pooled = _known(pooled_height, pooled_width)
    dtype, bins = input.onnx_dtype, pooled[0] * pooled[1]
    rows = _Bins(op, rois, spatial_scale, 2, pooled[0], size(op, input, 2), last=False)
    columns = _Bins(op, rois, spatial_scale, 1, pooled[1], size(op, input, 3), last=False)
    channels = _groups(op, input, bins)
    images = op.Gather(input, _batches(op, rois), axis=0)
    shape = [size(op, rois, 0), channels, *pooled, size(op, input, 2), size(op, input, 3)]
    apart = op.Reshape(images, vector(op, shape))
    across = op.Unsqueeze(cast(op, columns.inside, dtype), [1, 2])  # [K, 1, 1, w, W]
    across = op.Unsqueeze(across, [5])  # [K, 1, 1, w, W, 1]
    sums = op.Squeeze(op.MatMul(apart, across), [5])  # [K, C, h, w, H]
    down = op.Unsqueeze(cast(op, rows.inside, dtype), [1, 3])  # [K, 1, h, 1, H]
    total = op.ReduceSum(op.Mul(sums, down), [4], keepdims=0)
    heights = op.Unsqueeze(op.Sub(rows.end, rows.start), [1, 3])
    widths = op.Unsqueeze(op.Sub(columns.end, columns.start), [1, 2])
    area = op.Mul(op.Max(heights, 0.0), op.Max(widths, 0.0))
    return op.Div(total, op.Max(area, 1.0)), _mapping(op, input, rois, pooled)


@aten("torchvision::roi_pool", rule=like("input"), untested=_UNTESTED)
def roi_pool(
    op: Op, input: Value, rois: Value, spatial_scale: float, pooled_height: Any, pooled_width: Any
) -> Any:
    """The largest element of bins of whole pixels, and where it is first (-1 in an empty bin)."""
    pooled = _known(pooled_height, pooled_width)
    values, places = _largest(op, input, rois, spatial_scale, pooled)
    if op.version <= _ROI_OPS_UNTIL or not is_for_onnxruntime(op):
        maxima = op.MaxRoiPool(
            cast(op, input, DType.FLOAT),
            cast(op, rois, DType.FLOAT),
            pooled_shape=list(pooled),
            spatial_scale=float(spatial_scale),
        )
        values = cast(op, maxima, input.onnx_dtype)
    return values, places


def _largest(
    op: Op, x: Value, rois: Value, scale: float, pooled: tuple[int, int]
) -> tuple[Any, Any]:
    """The first largest element of each bin, region by region, and its position, INT32."""
    rows = _Bins(op, rois, scale, 2, pooled[0], size(op, x, 2), last=True)
    columns = _Bins(op, rois, scale, 1, pooled[1], size(op, x, 3), last=True)
    lowest = op.constant(np.array(-np.inf, x.onnx_dtype.numpy))

    def largest(values: Value, inside: Any) -> tuple[Any, Any]:
        kept = op.Where(inside, values, lowest)
        return op.ReduceMax(kept, [3], keepdims=0), op.ArgMax(kept, axis=3, keepdims=0)

    def one(b: Value, down: Any, across: Any) -> Sequence[Any]:
        image = op.Unsqueeze(op.Gather(x, b, axis=0), [1])  # [C, 1, H, W]
        best, column = largest(image, op.Unsqueeze(across, [1]))  # [C, w, H]
        value, row = largest(op.Unsqueeze(best, [1]), op.Unsqueeze(down, [1]))  # [C, h, w]
        at = op.GatherElements(column, op.Transpose(row, perm=[0, 2, 1]), axis=2)
        at = op.Transpose(at, perm=[0, 2, 1])
        return value, op.Add(op.Mul(row, scalar(op, size(op, x, 3), DType.INT64)), at)

    values, places = _each(op, rois, [rows.inside, columns.inside], one)
    empty = op.LessOrEqual(op.Unsqueeze(op.Sub(rows.end, rows.start), [1, 3]), 0.0)
    empty = op.Or(
        empty, op.LessOrEqual(op.Unsqueeze(op.Sub(columns.end, columns.start), [1, 2]), 0.0)
    )
    values = op.Where(empty, scalar(op, 0.0, x.onnx_dtype), values)
    places = op.Where(empty, scalar(op, -1, DType.INT64), places)
    return values, op.Cast(places, to=DType.INT32)


@aten("torchvision::deform_conv2d", rule=like("input"), untested=_UNTESTED)
def deform_conv2d(
    op: Op,
    input: Value,
    weight: Value,
    offset: Value,
    mask: Value,
    bias: Value,
    stride_h: Any,
    stride_w: Any,
    pad_h: Any,
    pad_w: Any,
    dilation_h: Any,
    dilation_w: Any,
    groups: Any,
    offset_groups: Any,
    use_mask: bool,
) -> Any:
    """A convolution whose kernel reads beside its places, by offsets that are given."""
    strides, pads = (stride_h, stride_w), (pad_h, pad_w)
    dilations, extra = (dilation_h, dilation_w), [mask] if use_mask else []
    if op.version < _DEFORM_CONV_SINCE:
        steps = list(zip(strides, pads, dilations, strict=True))
        masks = mask if use_mask else None
        return _sampled_conv(op, input, weight, offset, masks, bias, steps, groups, offset_groups)
    return op.DeformConv(
        input,
        weight,
        offset,
        bias,
        *extra,
        dilations=list(dilations),
        group=groups,
        kernel_shape=known_sizes(weight.shape[2:]),
        offset_group=offset_groups,
        pads=[*pads, *pads],
        strides=list(strides),
    )


def _sampled_conv(
    op: Op,
    x: Value,
    weight: Value,
    offset: Value,
    mask: Value | None,
    bias: Value,
    steps: list[tuple[int, int, int]],
    groups: int,
    parts: int,
) -> Value:
    """The same by interpolation and MatMul."""
    kernel = known_sizes(weight.shape[2:])
    taps = kernel[0] * kernel[1]
    count, high, wide = size(op, x, 0), size(op, offset, 2), size(op, offset, 3)
    images = product(op, [count, parts])
    moved = op.Reshape(offset, vector(op, [images, taps, 2, high, wide]))
    places = []
    for axis, (stride, pad, dilation) in enumerate(steps):
        lines = iota(op, (high, wide)[axis], x.onnx_dtype)
        start = op.Unsqueeze(op.Sub(op.Mul(lines, float(stride)), float(pad)), [1 - axis])
        tap = np.indices(kernel)[axis].reshape(taps, 1, 1) * dilation
        base = op.Add(start, op.constant(tap.astype(x.onnx_dtype.numpy)))
        here = op.Add(op.Gather(moved, op.constant(np.array(axis)), axis=2), base)
        length = cast(op, scalar(op, size(op, x, 2 + axis), DType.INT64), x.onnx_dtype)
        places.append(op.Sub(op.Div(op.Add(op.Mul(here, 2.0), 1.0), length), 1.0))
    grid = op.Concat(*(op.Unsqueeze(p, [4]) for p in reversed(places)), axis=4)
    rows = product(op, [taps, high])
    channels = x.shape[1]
    assert isinstance(channels, int)
    sampled = TABLE["aten::grid_sampler_2d"](
        op,
        op.Reshape(x, vector(op, [images, channels // parts, *sizes(op, x)[2:]])),
        op.Reshape(grid, vector(op, [images, rows, wide, 2])),
        0,  # bilinear
        0,  # zeros outside
        False,
    )
    if mask is not None:
        sampled = op.Mul(sampled, op.Reshape(mask, vector(op, [images, 1, rows, wide])))
    inner = channels // groups * taps
    area = product(op, [high, wide])
    outputs = known_sizes(weight.shape[:1])[0]
    columns = op.Reshape(sampled, vector(op, [count, groups, inner, area]))
    convolved = op.MatMul(op.Reshape(weight, [groups, outputs // groups, inner]), columns)
    convolved = op.Reshape(convolved, vector(op, [count, outputs, high, wide]))
    return op.Add(convolved, op.Unsqueeze(bias, [1, 2]))
