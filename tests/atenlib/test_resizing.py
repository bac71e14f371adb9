"""Resizing, sampling and rearranging of images that no OpInfo covers, in every mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check

aten = torch.ops.aten
SIZES = {1: (5,), 2: (5, 7), 3: (5, 7, 4)}
NEW = {1: [8], 2: [8, 3], 3: [8, 3, 6]}
LINEAR = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}


def image(rank: int, dtype: Any) -> Any:
    torch.manual_seed(0)
    return torch.randn(2, 3, *SIZES[rank], dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_sizes_without_factors(rank: int, dtype: Any) -> None:
    """The overloads with a size; the image's own sizes are unknown in one mode."""
    x = image(rank, dtype)
    check(getattr(aten, f"upsample_nearest{rank}d").default, x, NEW[rank])
    check(getattr(aten, f"_upsample_nearest_exact{rank}d").default, x, NEW[rank])
    for align in (False, True):
        check(getattr(aten, LINEAR[rank]).default, x, NEW[rank], align, tol=(1e-5, 1e-5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("factors", [(2.0, 3.0), (1.3, 0.7), (0.37, 1.91)])
def test_factors(factors: tuple[float, float], dtype: Any) -> None:
    """Factors decide where elements are read, also where they give no whole size."""
    x = image(2, dtype)
    size = [int(n * f) for n, f in zip(SIZES[2], factors, strict=True)]
    for name in ("upsample_nearest2d", "_upsample_nearest_exact2d"):
        check(getattr(aten, name).default, x, size, *factors)
        check(getattr(aten, name).vec, x, None, list(factors))
    for name in ("upsample_bilinear2d", "upsample_bicubic2d"):
        for align in (False, True):
            check(getattr(aten, name).default, x, size, align, *factors, tol=(1e-5, 1e-5))
            check(getattr(aten, name).vec, x, None, align, list(factors), tol=(1e-5, 1e-5))


def test_nearest_elements_are_torchs_where_division_rounds() -> None:
    """A factor whose inverse is rounded moves an element; Resize would find its neighbour."""
    x = torch.arange(300.0).reshape(1, 1, 300)
    for out in (49, 147, 441, 1000):
        check(aten.upsample_nearest1d.default, x, [out])
        check(aten._upsample_nearest_exact1d.default, x, [out])


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [[3, 4], [9, 11], [2, 13]], ids=str)
def test_antialiasing(name: str, size: list[int]) -> None:
    operator = getattr(aten, f"_upsample_{name}2d_aa", None)
    if operator is None:
        pytest.skip(f"this torch has no _upsample_{name}2d_aa")
    for dtype in (torch.float32, torch.float64):
        x = image(2, dtype)
        check(operator.default, x, size, False, tol=(1e-5, 1e-5))
        check(operator.vec, x, None, False, [size[0] / 5, size[1] / 7], tol=(1e-5, 1e-5))
        check(operator.default, x, size, True, tol=(1e-5, 1e-5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize(
    ("kernel", "dilation", "padding", "stride"),
    [((2, 3), (1, 1), (0, 0), (1, 1)), ((2, 2), (2, 1), (1, 2), (2, 1))],
)
def test_fold(kernel: Any, dilation: Any, padding: Any, stride: Any, dtype: Any) -> None:
    """Windows summed into an image, batched and alone."""
    torch.manual_seed(0)
    image = torch.randn(2, 3, 5, 6, dtype=dtype)
    columns = aten.im2col(image, kernel, dilation, padding, stride)
    tol = (2e-3, 1e-2) if dtype is torch.float16 else None
    check(aten.col2im.default, columns, (5, 6), kernel, dilation, padding, stride, tol=tol)
    check(aten.col2im.default, columns[0], (5, 6), kernel, dilation, padding, stride, tol=tol)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 1, 5), (2, 3, 3, 4, 5)], ids=str)
def test_affine_grid(size: tuple[int, ...], align: bool) -> None:
    rank = len(size) - 2
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        theta = torch.randn(size[0], rank, rank + 1, dtype=dtype)
        check(aten.affine_grid_generator.default, theta, list(size), align)


@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_grid_sampling_by_gathers(mode: int, padding: int) -> None:
    """Float64 and old opsets read the image by index; far outside and at NaN as torch does."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    grid = torch.randn(2, 3, 3, 2, dtype=torch.float64) * 2
    for align in (False, True):
        check(aten.grid_sampler_2d.default, x, grid, mode, padding, align, dynamic=(0, 1))
    check(aten.grid_sampler_2d.default, x.float(), grid.float(), mode, padding, False, opset=18)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64], ids=str)
def test_channel_shuffle(dtype: Any) -> None:
    x = torch.arange(2 * 6 * 2 * 3).reshape(2, 6, 2, 3).to(dtype)
    check(aten.native_channel_shuffle.default, x, 3)
    check(aten.pixel_shuffle.default, x.repeat(1, 2, 1, 1), 2)
    check(aten.pixel_unshuffle.default, x, 1)
