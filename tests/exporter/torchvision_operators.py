"""torchvision with operators: its own where they load, else these in Python with the same meaning.

torchvision's wheels load their operators only beside the build of torch they were made for.
Exporting needs a schema, what sizes a result has, and results to compare with; these are here for
`nms` and `roi_align`, which the detection models call.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest
import torch
from torch import Tensor

_NMS = "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_ROI_ALIGN = (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
)


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Greedy suppression, best score first."""
    order = scores.argsort(descending=True, stable=True)
    area = (dets[:, 2] - dets[:, 0]) * (dets[:, 3] - dets[:, 1])
    kept = []
    while order.numel():
        first, order = order[0], order[1:]
        kept.append(first)
        low = torch.maximum(dets[first, :2], dets[order, :2])
        high = torch.minimum(dets[first, 2:], dets[order, 2:])
        common = (high - low).clamp(min=0).prod(dim=1)
        order = order[~(common / (area[first] + area[order] - common) > iou_threshold)]
    return torch.stack(kept) if kept else torch.zeros(0, dtype=torch.int64)


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Means of bilinear samples, region by region."""
    found = input.new_zeros(rois.shape[0], input.shape[1], pooled_height, pooled_width)
    offset = 0.5 if aligned else 0.0
    for n, (image, *corners) in enumerate(rois.tolist()):
        left, top, right, bottom = (c * spatial_scale - offset for c in corners)
        sides = [
            _line(top, bottom - top, pooled_height, sampling_ratio, aligned, input.shape[2]),
            _line(left, right - left, pooled_width, sampling_ratio, aligned, input.shape[3]),
        ]
        rows, columns = (s.to(input.dtype) for s in sides)
        found[n] = rows @ input[int(image)] @ columns.T
    return found


def _line(start: float, extent: float, bins: int, ratio: int, aligned: bool, size: int) -> Tensor:
    """What each line of an image counts in each bin along one axis, `[bins, size]`."""
    if not aligned:
        extent = max(extent, 1.0)
    step = extent / bins
    points = ratio if ratio > 0 else max(int(-(-step // 1)), 0)
    weights = torch.zeros(bins, size, dtype=torch.float64)
    for n in range(bins):
        for p in range(points):
            place = start + n * step + (p + 0.5) * step / points
            if place < -1 or place > size:
                continue
            place = min(max(place, 0.0), size - 1)
            low = int(place)
            weights[n, low] += (1 - (place - low)) / points
            weights[n, min(low + 1, size - 1)] += (place - low) / points
    return weights


def _define() -> Any:
    """Define what torchvision's own library would have defined."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema, kernel in ((_NMS, nms), (f"q{_NMS}", None), (_ROI_ALIGN, roi_align)):
        name = schema.partition("(")[0]
        if not hasattr(torch.ops.torchvision, name):
            library.define(schema)
        if kernel is not None:
            library.impl(name, kernel, "CPU")
    return library


def _fake_nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """As torchvision describes it: as many as the values say."""
    return dets.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


_KEPT: list[Any] = []  # a library lives as long as its object


def operators() -> Any:
    """`torch.ops.torchvision`, with or without torchvision; `nms` of it can be exported."""
    if importlib.util.find_spec("torchvision") is not None:
        torchvision()
    elif not _KEPT:
        _KEPT.append(_define())
        torch.library.register_fake("torchvision::nms", _fake_nms, lib=_KEPT[0])
    return torch.ops.torchvision


def torchvision() -> Any:
    """torchvision, with the operators of its detection models; skips where it is not installed."""
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    try:
        found = importlib.import_module("torchvision")
    except RuntimeError:  # its operators did not load: it fails where it describes them
        _KEPT.append(_define())
        found = importlib.import_module("torchvision")
    extension = importlib.import_module("torchvision.extension")
    if extension._has_ops():
        return found
    if not _KEPT:
        _KEPT.append(_define())
    meta = importlib.import_module("torchvision._meta_registrations")
    _KEPT[0].impl("roi_align", meta.meta_roi_align, "Meta")
    for module in ("torchvision.extension", "torchvision.ops.roi_align"):
        importlib.import_module(module)._has_ops = lambda: True
    return found
