"""Networks over images that are resized by the quotient of their sizes, as detection models do."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from onnxwright import exporter

DYNAMIC = torch.export.Dim.DYNAMIC


class Pyramid(torch.nn.Module):
    """Two levels of features of a padded image, of which the places above a value are kept."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fine = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.coarse = torch.nn.Conv2d(4, 4, 3, stride=2, padding=1)

    def forward(self, image: Any) -> Any:
        height, width = image.shape[-2:]
        scale = min(32 / min(height, width), 48 / max(height, width))
        image = F.interpolate(
            image[None], scale_factor=scale, mode="bilinear", recompute_scale_factor=True
        )
        size = [int(math.ceil(float(n) / 16) * 16) for n in image.shape[2:]]
        padded = image.new_full((1, 3, *size), 0)
        padded[:, :, : image.shape[2], : image.shape[3]].copy_(image)
        fine = self.fine(padded).relu()
        coarse = self.coarse(fine)
        fine = fine + F.interpolate(coarse, size=fine.shape[-2:])
        parts = []
        for level in (fine, coarse):
            batch, _, rows, columns = level.shape
            made = level.view(batch, -1, 2, rows, columns).permute(0, 3, 4, 1, 2)
            parts.append(made.reshape(batch, -1, 2))
        found = torch.cat(parts, dim=1)[0]
        kept = found[found[:, 0] > 0.5]
        if kept.shape[0] == 0:
            return torch.zeros(2), fine.shape[-1]
        return kept.mean(dim=0), fine.shape[-1]


@pytest.mark.parametrize("how", ["source", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_pyramid_takes_images_of_any_size(how: str) -> None:
    module = Pyramid().eval()
    shapes = ({1: DYNAMIC, 2: DYNAMIC},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = exporter.export(
            module, (torch.rand(3, 40, 35),), dynamic_shapes=shapes, capture=how
        )
    assert "onnxwright.with_new_sizes.default" in program.report.torch_ops
    tried = [outcome.strategy for outcome in program.report.captures]
    assert "strict" not in tried  # it would compute with the long expressions
    for size in ((40, 35), (25, 60), (48, 32), (70, 71)):
        image = torch.rand(3, *size)
        for scale in (1.0, -5.0):
            with torch.no_grad():
                wanted, width = module(image * scale)
            found, theirs = program(image * scale)
            assert int(theirs) == width
            torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=1e-4, atol=1e-4)
