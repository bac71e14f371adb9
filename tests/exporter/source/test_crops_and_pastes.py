"""Images cropped, resized and pasted by the values of boxes, with run-time numbers of boxes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from onnxwright import exporter
from tests.harness.modules import module_with

HEIGHT, WIDTH = 24, 30
torch.manual_seed(0)
CONV = torch.nn.Conv2d(3, 2, 3, padding=1)


def patch_is_pasted(image: Any, boxes: Any) -> Any:
    canvas = torch.zeros(HEIGHT, WIDTH)
    patch = image[None, :1]
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        size = (y1 - y0, x1 - x0)
        canvas[y0:y1, x0:x1] = F.interpolate(patch, size=size, mode="bilinear")[0, 0]
    return canvas


def slices_by_tensors(image: Any, boxes: Any) -> Any:
    canvas = torch.zeros(HEIGHT, WIDTH)
    corners = boxes.to(torch.int64)
    for i in range(corners.shape[0]):
        canvas[corners[i, 1] : corners[i, 3], corners[i, 0] : corners[i, 2]] += 1
    return canvas


def mean_of_crops(image: Any, boxes: Any) -> Any:
    found = []
    for box in boxes:
        x0, y0, x1, y1 = [int(v) for v in box]
        found.append(image[:, y0:y1, x0:x1].mean())
    return torch.stack(found) if found else torch.zeros(0)


def crops_are_resized(image: Any, boxes: Any) -> Any:
    crops = []
    for box in boxes:
        x0, y0, x1, y1 = box.int().tolist()
        crop = image[:, y0:y1, x0:x1]
        crops.append(F.interpolate(crop[None], size=(8, 8), mode="bilinear")[0])
    return torch.stack(crops) if len(crops) else image.new_zeros(0, 3, 8, 8)


def resized_to_nearest(image: Any, boxes: Any) -> Any:
    total = torch.zeros(())
    for box in boxes:
        size = (int(box[3] - box[1]), int(box[2] - box[0]))
        total = total + F.interpolate(image[None], size=size).mean()
    return total


def peaks_of_resized(image: Any, boxes: Any) -> Any:
    found = torch.zeros(len(boxes), 2)
    for i in range(len(boxes)):
        width = int((boxes[i, 2] - boxes[i, 0]).ceil().item())
        height = int((boxes[i, 3] - boxes[i, 1]).ceil().item())
        map_ = F.interpolate(image[:1, None], size=(height, width), mode="bicubic")[0, 0]
        place = map_.reshape(-1).argmax()
        found[i, 0] = place % map_.shape[1]
        found[i, 1] = torch.div(place, map_.shape[1], rounding_mode="floor")
    return found


def clamped_to_the_image(image: Any, boxes: Any) -> Any:
    canvas = torch.zeros(1, HEIGHT, WIDTH)
    for box in boxes:
        x0, y0 = max(int(box[0]) - 3, 0), max(int(box[1]) - 3, 0)
        x1 = min(int(box[2]) + 3, canvas.shape[2])
        y1 = min(int(box[3]) + 3, canvas.shape[1])
        part = image[:1, y0:y1, x0:x1]
        canvas[:, y0:y1, x0:x1] = torch.maximum(canvas[:, y0:y1, x0:x1], part)
    return canvas


def erased(image: Any, boxes: Any) -> Any:
    image = image.clone()
    for x0, y0, x1, y1 in boxes.long():
        image[:, y0:y1, x0:x1] = 0
    return image


def a_mask_for_each_box(image: Any, boxes: Any) -> Any:
    masks = []
    for box in boxes:
        mask = torch.zeros(HEIGHT, WIDTH)
        x0, y0, x1, y1 = map(int, box)
        mask[y0:y1, x0:x1] = 1
        masks.append(mask)
    return torch.stack(masks) if len(masks) else torch.zeros(0, HEIGHT, WIDTH)


def in_a_comprehension(image: Any, boxes: Any) -> Any:
    def brightest(box: Any) -> Any:
        x0, y0, x1, y1 = (int(v) for v in box)
        return image[:, y0:y1, x0:x1].amax()

    found = [brightest(box) for box in boxes]
    return torch.stack(found) if len(found) > 0 else torch.empty(0)


def small_boxes_are_left_out(image: Any, boxes: Any) -> Any:
    total = torch.zeros(3)
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        if (x1 - x0) * (y1 - y0) < 50:
            continue
        total = total + image[:, y0:y1, x0:x1].sum(dim=(1, 2))
    return total


def empty_crops(image: Any, boxes: Any) -> Any:
    found = []
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        crop = image[:, y0:y1, x0 + 4 : x1 - 4]
        if crop.numel() == 0:
            found.append(torch.zeros(3))
        else:
            found.append(crop.mean(dim=(1, 2)))
    return torch.stack(found) if found else torch.zeros(0, 3)


def one_crop_is_the_result(image: Any, boxes: Any) -> Any:
    x0, y0, x1, y1 = boxes[0].long().tolist()
    return image[:, y0:y1, x0:x1]


def pasted_by_padding(image: Any, boxes: Any) -> Any:
    total = torch.zeros(HEIGHT, WIDTH)
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        ones = torch.ones(y1 - y0, x1 - x0)
        total = total + F.pad(ones, (x0, WIDTH - x1, y0, HEIGHT - y1))
    return total


def a_canvas_for_each_class(image: Any, boxes: Any) -> Any:
    canvas = torch.zeros(2, HEIGHT, WIDTH)
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        label = int(box[0] > box[1])
        canvas[label, y0:y1, x0:x1] = image[0, y0:y1, x0:x1]
        canvas[label, None, ..., 0] = 7
    return canvas


def areas_as_numbers(image: Any, boxes: Any) -> Any:
    areas = []
    for box in boxes:
        areas.append((box[3].item() - box[1].item()) * (box[2].item() - box[0].item()))
    return torch.tensor(areas)


def places_as_numbers(image: Any, boxes: Any) -> Any:
    found = []
    for box in boxes:
        x0, y0, x1, y1 = (int(v) for v in box.tolist())
        place = int(image[0, y0:y1, x0:x1].argmax())
        found.append(torch.tensor([x0 + place % (x1 - x0), y0 + place // (x1 - x0)]))
    return torch.stack(found) if found else torch.zeros(0, 2, dtype=torch.int64)


def a_view_is_written_twice(image: Any, boxes: Any) -> Any:
    canvas = image.new_zeros(HEIGHT, WIDTH)
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        canvas[y0:y1, x0:x1].fill_(1).mul_(3)
    return canvas


def views_see_later_writes(image: Any, boxes: Any) -> Any:
    canvas = torch.zeros(HEIGHT, WIDTH)
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        crop = canvas[y0:y1, x0:x1]
        crop += 1
        canvas += 0.5
        crop *= 2
        canvas[0, 0] = crop.sum()
    return canvas


def features_with_gradients(image: Any, boxes: Any) -> Any:
    features = CONV(image[None])[0].relu()
    canvas = torch.zeros(2, HEIGHT, WIDTH)
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        canvas[:, y0:y1, x0:x1] = features[:, y0:y1, x0:x1]
        features[:, y0:y1, x0:x1] += 1
    return canvas, features


def features_are_scaled(image: Any, boxes: Any) -> Any:
    features = CONV(image[None])[0].relu()
    x0, y0, x1, y1 = boxes[0].long().tolist()
    features[:, y0:y1, x0:x1] *= 2
    return features


def two_loops(image: Any, boxes: Any) -> Any:
    scores = []
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        scores.append(image[:, y0:y1, x0:x1].mean())
    canvas = torch.zeros(HEIGHT, WIDTH)
    for i in range(len(boxes)):
        x0, y0, x1, y1 = boxes[i].long().tolist()
        if scores[i] > 0.5:
            canvas[y0:y1, x0:x1] = scores[i]
    return canvas


def row_by_row(image: Any, boxes: Any) -> Any:
    total = torch.zeros(())
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        for y in range(y0, y1):
            total = total + image[0, y, x0:x1].max()
    return total


def blurred_inside(image: Any, boxes: Any) -> Any:
    image = image.clone()
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        part = F.pad(image[None, :, y0:y1, x0:x1], (1, 1, 1, 1), mode="replicate")
        image[:, y0:y1, x0:x1] = F.avg_pool2d(part, 3, 1)[0]
    return image


def wide_boxes_are_flipped(image: Any, boxes: Any) -> Any:
    found = image.clone()
    for box in boxes.round().long():
        x0, y0, x1, y1 = box[0], box[1], box[2], box[3]
        if x1 - x0 > y1 - y0:
            found[:, y0:y1, x0:x1] = image[:, y0:y1, x0:x1].flip(2)
    return found


def tiles_keep_the_ratio(image: Any, boxes: Any) -> Any:
    tiles = []
    for box in boxes:
        x0, y0, x1, y1 = box.long().tolist()
        height, width = y1 - y0, x1 - x0
        scale = min(8 / height, 8 / width)
        size = (int(height * scale), int(width * scale))
        tile = torch.zeros(3, 8, 8)
        part = F.interpolate(image[None, :, y0:y1, x0:x1], size=size, mode="bilinear")
        tile[:, : size[0], : size[1]] = part[0]
        tiles.append(tile)
    return torch.stack(tiles) if tiles else torch.zeros(0, 3, 8, 8)


def outside_of_the_image(image: Any, boxes: Any) -> Any:
    """Slices are cut at the end, and negative numbers count from there."""
    found = []
    for box in boxes:
        x0, y0, x1, y1 = (box * 1.5).long().tolist()
        left = int(box[0]) - 10
        found.append(image[:, y0:y1, x0:x1].sum() + image[0, 0, left:].sum())
    return torch.stack(found) if found else torch.zeros(0)


def narrowed(image: Any, boxes: Any) -> Any:
    found = []
    for box in boxes.long():
        rows = image.narrow(1, int(box[1]), int(box[3] - box[1]))
        found.append(rows.narrow(2, int(box[0]), int(box[2] - box[0])).sum())
    return torch.stack(found) if len(found) else torch.zeros(0)


QUICK = (
    slices_by_tensors, a_mask_for_each_box, a_canvas_for_each_class, areas_as_numbers,
    places_as_numbers, a_view_is_written_twice, views_see_later_writes, features_are_scaled,
)  # fmt: skip
SLOW = (
    features_with_gradients,
    mean_of_crops, resized_to_nearest, one_crop_is_the_result, patch_is_pasted,
    crops_are_resized, peaks_of_resized, clamped_to_the_image, erased, in_a_comprehension,
    small_boxes_are_left_out, empty_crops, pasted_by_padding, two_loops, row_by_row,
    blurred_inside, wide_boxes_are_flipped, tiles_keep_the_ratio, outside_of_the_image, narrowed,
)  # fmt: skip


@module_with(lambda function: {"function": function})
def Program(self, image: Any, boxes: Any) -> Any:
    return self.function(image, boxes)


def inputs(count: int, seed: int) -> tuple[Any, Any]:
    made = torch.Generator().manual_seed(seed)
    first = torch.rand(count, 2, generator=made) * torch.tensor([18.0, 14.0])
    size = 5 + torch.rand(count, 2, generator=made) * torch.tensor([6.0, 4.0])
    image = torch.rand(3, HEIGHT, WIDTH, generator=made)
    return image, torch.cat([first, first + size], dim=1)


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "function",
    [*QUICK, *(pytest.param(f, marks=pytest.mark.slow) for f in SLOW)],
    ids=lambda f: f.__name__,
)
def test_boxes_decide_sizes(function: Callable[..., Any]) -> None:
    shapes = ({}, {0: torch.export.Dim.DYNAMIC})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = exporter.export(
            Program(function),
            inputs(3, 0),
            dynamic_shapes=shapes,
            capture="auto" if function is features_are_scaled else "source",
        )
    for count, seed in ((3, 1), (5, 2), (1, 3), (0, 4), (2, 5)):
        if count == 0 and function in (one_crop_is_the_result, features_are_scaled):
            continue
        image, boxes = inputs(count, seed)
        with torch.no_grad():
            wanted = function(image.clone(), boxes)
        found = program(image, boxes)
        if isinstance(wanted, torch.Tensor):
            wanted, found = (wanted,), (found,)
        for a, b in zip(wanted, found, strict=True):
            torch.testing.assert_close(torch.as_tensor(b), a, rtol=1e-4, atol=1e-4)
