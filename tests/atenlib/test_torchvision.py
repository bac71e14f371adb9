"""torchvision's operators beside plain formulas; torchvision itself is used where it is there."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
import torch

from onnxwright.atenlib import find
from onnxwright.atenlib.widen import AtenOps, AtenTracingBackend
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.versions.one_call import converted_call
from tests.atenlib.one_op import outcomes
from tests.harness.tables import each

_SIZES = "SymInt pooled_height, SymInt pooled_width"
_POOLED = f"Tensor input, Tensor rois, float spatial_scale, {_SIZES}"
_TENSORS = ", ".join(f"Tensor {n}" for n in ("input", "weight", "offset", "mask", "bias"))
_STEPS = ", ".join(f"SymInt {n}_{a}" for n in ("stride", "pad", "dilation") for a in "hw")
_GROUPS = "SymInt groups, SymInt offset_groups, bool use_mask"
SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool({_POOLED}) -> (Tensor, Tensor)",
    f"ps_roi_align({_POOLED}, int sampling_ratio) -> (Tensor, Tensor)",
    f"ps_roi_pool({_POOLED}) -> (Tensor, Tensor)",
    f"deform_conv2d({_TENSORS}, {_STEPS}, {_GROUPS}) -> Tensor",
)

with contextlib.suppress(ImportError, RuntimeError):
    import torchvision  # noqa: F401 - its own operators
LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
for schema in SCHEMAS:
    if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
        LIBRARY.define(schema)

vision = torch.ops.torchvision


def boxes(count: int, extent: float, dtype: Any = torch.float32) -> Any:
    corners = torch.rand(count, 2, 2, dtype=dtype).sort(dim=1).values * extent
    return corners.reshape(count, 4)


def rois(count: int, batch: int, extent: float, dtype: Any = torch.float32) -> Any:
    numbers = torch.randint(0, batch, (count, 1)).to(dtype)
    return torch.cat([numbers, boxes(count, extent, dtype)], dim=1)


def agree(target: Any, expected: Any, *args: Any, tol: float = 1e-4, **options: Any) -> None:
    theirs, modes = outcomes(target.default, *args, expected=expected, **options)
    for mode, ours in modes.items():
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=tol, atol=tol, msg=lambda m, mode=mode: mode + m)


def kept(dets: Any, scores: Any, threshold: float) -> Any:
    chosen: list[int] = []
    area = (dets[:, 2] - dets[:, 0]) * (dets[:, 3] - dets[:, 1])
    for i in scores.argsort(descending=True).tolist():
        low, high = (
            torch.maximum(dets[i, :2], dets[chosen, :2]),
            torch.minimum(dets[i, 2:], dets[chosen, 2:]),
        )
        common = (high - low).clamp(min=0).prod(dim=1)
        if not bool((common / (area[i] + area[chosen] - common) > threshold).any()):
            chosen.append(i)
    return torch.tensor(chosen, dtype=torch.int64)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_nms(count: int, threshold: float) -> None:
    torch.manual_seed(count)
    dets, scores = boxes(count, 10.0), torch.rand(count)
    expected = kept(dets, scores, threshold)
    agree(vision.nms, expected, dets, scores, threshold, dynamic=(0, 1))
    agree(vision.nms, expected, dets.double(), scores.double(), threshold)


def bilinear(image: Any, y: float, x: float) -> Any:
    """`[C]` at a place; zero beyond one pixel outside."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return torch.zeros(image.shape[0], dtype=image.dtype)
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = int(y), int(x)
    below, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    return (
        image[:, top, left] * (1 - dy) * (1 - dx)
        + image[:, top, right] * (1 - dy) * dx
        + image[:, below, left] * dy * (1 - dx)
        + image[:, below, right] * dy * dx
    )


def mean_of_bins(
    x: Any, regions: Any, scale: float, h: int, w: int, ratio: int, ahead: bool
) -> Any:
    means = torch.zeros(len(regions), x.shape[1], h, w, dtype=x.dtype)
    for k, (number, *corners) in enumerate(regions.tolist()):
        left, top, right, bottom = (c * scale - (0.5 if ahead else 0.0) for c in corners)
        size = [bottom - top, right - left]
        if not ahead:
            size = [max(s, 1.0) for s in size]
        grid = [ratio if ratio > 0 else math.ceil(s / n) for s, n in zip(size, (h, w), strict=True)]
        for i in range(h):
            for j in range(w):
                points = [
                    bilinear(
                        x[int(number)],
                        top + (i + (a + 0.5) / grid[0]) * size[0] / h,
                        left + (j + (b + 0.5) / grid[1]) * size[1] / w,
                    )
                    for a in range(grid[0])
                    for b in range(grid[1])
                ]
                if points:
                    means[k, :, i, j] = torch.stack(points).mean(dim=0)
    return means


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_roi_align(ratio: int, aligned: bool, dtype: Any, opset: int) -> None:
    torch.manual_seed(0)
    x, regions = torch.randn(2, 3, 9, 7, dtype=dtype), rois(5, 2, 26.0, dtype)
    regions[4, 1:] = torch.tensor([-9.3, -4.2, 3, 2])
    expected = mean_of_bins(x, regions, 0.4, 3, 2, ratio, aligned)
    agree(vision.roi_align, expected, x, regions, 0.4, 3, 2, ratio, aligned, dynamic=(0, 1),
          opset=opset)  # fmt: skip


@pytest.mark.parametrize("opset", [18, 23])
def test_no_regions(opset: int) -> None:
    x, none = torch.randn(2, 12, 9, 7), torch.zeros(0, 5)
    aligned, pooled = torch.zeros(0, 12, 3, 2), torch.zeros(0, 12, 3, 2, dtype=torch.int32)
    agree(vision.roi_align, aligned, x, none, 0.4, 3, 2, 2, True, dynamic=(0, 1), opset=opset)
    agree(vision.roi_pool, (aligned, pooled), x, none, 0.4, 3, 2, dynamic=(0, 1), opset=opset)


def own_channels(full: Any, h: int, w: int) -> tuple[Any, Any]:
    count, channels = full.shape[0], full.shape[1] // (h * w)
    numbers = torch.arange(full.shape[1]).reshape(1, channels, h, w).expand(count, -1, -1, -1)
    apart = full.reshape(count, channels, h, w, h, w)
    rows, columns = torch.arange(h)[:, None], torch.arange(w)[None, :]
    return apart[:, :, rows, columns, rows, columns].contiguous(), numbers.to(torch.int32)


@pytest.mark.parametrize("ratio", [-1, 2])
def test_ps_roi_align(ratio: int) -> None:
    torch.manual_seed(1)
    x, regions = torch.randn(2, 12, 9, 7), rois(5, 2, 14.0)
    expected = own_channels(mean_of_bins(x, regions, 0.5, 3, 2, ratio, True), 3, 2)
    agree(vision.ps_roi_align, expected, x, regions, 0.5, 3, 2, ratio, dynamic=(0, 1))


def away(x: float) -> int:
    """Rounded as C's `round` does."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def bins_of(start: float, end: float, scale: float, count: int, length: int, last: int) -> Any:
    first, final = away(start * scale), away(end * scale)
    step = max(final - first + last, 1) / count
    limit = length if last else length - 1
    for n in range(count):
        low = min(max(math.floor(n * step) + first, 0), limit)
        yield low, min(max(math.ceil((n + 1) * step) + first, 0), limit)


def test_roi_pool() -> None:
    torch.manual_seed(2)
    x, regions = torch.randn(2, 3, 9, 7), rois(6, 2, 24.0)
    regions[5, 1:] = torch.tensor([30.0, 30, 40, 40])
    values = torch.zeros(6, 3, 3, 2)
    places = torch.full((6, 3, 3, 2), -1, dtype=torch.int32)
    for k, (number, left, top, right, bottom) in enumerate(regions.tolist()):
        for i, (y0, y1) in enumerate(bins_of(top, bottom, 0.4, 3, 9, 1)):
            for j, (x0, x1) in enumerate(bins_of(left, right, 0.4, 2, 7, 1)):
                if y1 > y0 and x1 > x0:
                    part = x[int(number), :, y0:y1, x0:x1].flatten(1)
                    values[k, :, i, j], at = part.max(dim=1)
                    places[k, :, i, j] = ((y0 + at // (x1 - x0)) * 7 + x0 + at % (x1 - x0)).int()
    assert bool((places == -1).any())
    agree(vision.roi_pool, (values, places), x, regions, 0.4, 3, 2, dynamic=(0, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ps_roi_pool(dtype: Any) -> None:
    torch.manual_seed(3)
    x, regions = torch.randn(2, 12, 9, 7, dtype=dtype), rois(5, 2, 14.0, dtype)
    full = torch.zeros(5, 12, 3, 2, dtype=dtype)
    for k, (number, left, top, right, bottom) in enumerate(regions.tolist()):
        for i, (y0, y1) in enumerate(bins_of(top, bottom, 0.5, 3, 9, 0)):
            for j, (x0, x1) in enumerate(bins_of(left, right, 0.5, 2, 7, 0)):
                if y1 > y0 and x1 > x0:
                    full[k, :, i, j] = x[int(number), :, y0:y1, x0:x1].mean(dim=(1, 2))
    expected = own_channels(full, 3, 2)
    agree(vision.ps_roi_pool, expected, x, regions, 0.5, 3, 2, dynamic=(0, 1))


def zero_padded(image: Any, y: Any, x: Any) -> Any:
    """`[C, ...]` at places; zeros outside."""
    height, width = image.shape[1:]
    total = torch.zeros(image.shape[0], *y.shape, dtype=image.dtype)
    for a in (0, 1):
        for b in (0, 1):
            row, column = y.floor() + a, x.floor() + b
            weight = (1 - (y - row).abs()) * (1 - (x - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            at = row.clamp(0, height - 1).long(), column.clamp(0, width - 1).long()
            total += image[:, at[0], at[1]] * (weight * inside)
    return total


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("use_mask", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_deform_conv2d(opset: int, use_mask: bool, dtype: Any) -> None:
    torch.manual_seed(4)
    groups, parts, kernel = 2, 2, (3, 2)
    stride, pad, dilation = (2, 1), (1, 2), (1, 2)
    x = torch.randn(2, 4, 7, 6, dtype=dtype)
    weight, bias = torch.randn(6, 2, *kernel, dtype=dtype), torch.randn(6, dtype=dtype)
    high = (7 + 2 * pad[0] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    wide = (6 + 2 * pad[1] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    taps = kernel[0] * kernel[1]
    offset = torch.randn(2, parts * taps * 2, high, wide, dtype=dtype)
    mask = torch.rand(2, parts * taps, high, wide, dtype=dtype)
    columns = torch.zeros(2, 4, taps, high, wide, dtype=dtype)
    moves = offset.reshape(2, parts, taps, 2, high, wide)
    for n in range(2):
        for part in range(parts):
            for t in range(taps):
                i, j = divmod(t, kernel[1])
                y = torch.arange(high)[:, None] * stride[0] - pad[0] + i * dilation[0]
                z = torch.arange(wide)[None, :] * stride[1] - pad[1] + j * dilation[1]
                two = slice(part * 2, part * 2 + 2)
                samples = zero_padded(x[n, two], y + moves[n, part, t, 0], z + moves[n, part, t, 1])
                if use_mask:
                    samples = samples * mask[n, part * taps + t]
                columns[n, two, t] = samples
    apart = columns.reshape(2, groups, 2 * taps, high * wide)
    products = weight.reshape(groups, 3, 2 * taps) @ apart
    expected = products.reshape(2, 6, high, wide) + bias[:, None, None]
    steps = (*stride, *pad, *dilation)
    agree(vision.deform_conv2d, expected, x, weight, offset, mask, bias, *steps, groups, parts,
          use_mask, opset=opset, dynamic=())  # fmt: skip


def test_a_detector_is_exported() -> None:
    """What is left of boxes, and the means of their regions, with sizes that the run tells."""
    import onnxwright as ow

    class Detector(torch.nn.Module):
        def forward(self, image: Any, dets: Any, scores: Any) -> Any:
            picked = dets[vision.nms(dets, scores, 0.5)]
            regions = torch.cat([torch.zeros_like(picked[:, :1]), picked], dim=1)
            return vision.roi_align(image, regions, 0.5, 2, 2, 2, True)

    for name, fake in (("nms", _fake_nms), ("roi_align", _fake_roi_align)):
        if "LIBRARY" in globals():
            torch.library.register_fake(f"torchvision::{name}", fake, lib=LIBRARY)
    torch.manual_seed(5)
    image, dets, scores = torch.randn(1, 3, 9, 8), boxes(12, 16.0), torch.rand(12)
    count = torch.export.Dim("count", min=2)
    shapes = {"image": None, "dets": {0: count}, "scores": {0: count}}
    program = ow.export(Detector(), (image, dets, scores), dynamic_shapes=shapes, opset_version=18)
    assert {"NonMaxSuppression", "RoiAlign"} <= {n.op_type for n in program.model.graph}
    dets, scores = boxes(20, 16.0), torch.rand(20)
    chosen = dets[kept(dets, scores, 0.5)]
    regions = torch.cat([torch.zeros(len(chosen), 1), chosen], dim=1)
    ours = program(image, dets, scores)
    torch.testing.assert_close(
        torch.as_tensor(ours),
        mean_of_bins(image, regions, 0.5, 2, 2, 2, True),
        rtol=1e-4,
        atol=1e-4,
    )


def _fake_nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    return dets.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


def _fake_roi_align(
    x: Any, regions: Any, scale: float, h: int, w: int, ratio: int, aligned: bool
) -> Any:
    return x.new_empty(regions.shape[0], x.shape[1], h, w)


@each("aligned", [False, True])
@each("ratio", [-1, 0, 2])
@each(("opset", "target"), [(16, None), (21, None), (23, "any")])
def test_roi_align_is_one_operator(
    opset: int, target: str | None, ratio: int, aligned: bool
) -> None:
    """Where the runtime has a RoiAlign; from opset 22 on ONNX Runtime's CPU has none."""
    backend: TracingBackend
    if target == "any":
        backend = TracingBackend(Recorder(), Opset("", opset), converted_call)
    else:
        backend = AtenTracingBackend(Recorder(), Opset("", opset))
    x = backend.input("x", TensorType(DType.FLOAT, (2, 3, 9, 7)))
    regions = backend.input("rois", TensorType(DType.FLOAT, ("K", 5)))
    pooled = find("torchvision::roi_align")(AtenOps(backend), x, regions, 0.4, 3, 2, ratio, aligned)
    kinds = [node.op_type for node in backend.to_model_proto([pooled]).graph.node]
    assert sorted(kinds) == ["Cast", "RoiAlign", "Slice", "Slice", "Squeeze"]
