"""Postprocessing of detections as users write it, with run-time numbers of boxes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from onnxwright import exporter
from tests.exporter.torchvision_operators import operators, torchvision

DYNAMIC = torch.export.Dim.DYNAMIC


@pytest.fixture(scope="module", autouse=True)
def _nms_is_there() -> None:
    operators()


def nms(boxes: Any, scores: Any, threshold: float = 0.5) -> Any:
    return torch.ops.torchvision.nms(boxes, scores, threshold)


class Program(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, boxes: Any, scores: Any) -> Any:
        return self.function(boxes, scores)


def threshold_then_nms(boxes: Any, scores: Any) -> Any:
    best, labels = scores.max(dim=1)
    kept = best > 0.4
    boxes, best, labels = boxes[kept], best[kept], labels[kept]
    if boxes.shape[0] == 0:
        return torch.zeros(0, 4), torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    order = nms(boxes, best)[:3]
    return boxes[order], best[order], labels[order]


def numel_is_zero(boxes: Any, scores: Any) -> Any:
    boxes = boxes[scores[:, 0] > 0.5]
    if boxes.numel() == 0:
        return torch.empty((0,), dtype=torch.int64)
    return nms(boxes, boxes[:, 0])


def of_each_class(boxes: Any, scores: Any) -> Any:
    found = []
    for label in range(scores.shape[1]):
        chosen = torch.where(scores[:, label] > 0.4)[0]
        kept = chosen[nms(boxes[chosen], scores[chosen, label])]
        rows = [boxes[kept], scores[kept, label, None], torch.full((len(kept), 1), float(label))]
        found.append(torch.cat(rows, dim=1))
    return torch.cat(found)


def of_each_class_that_is_there(boxes: Any, scores: Any) -> Any:
    found = []
    for label in range(scores.shape[1]):
        mask = scores[:, label] > 0.7
        if mask.any():
            found.append(boxes[mask].mean(dim=0))
        else:
            found.append(boxes.new_zeros(4))
    return torch.stack(found)


def by_offsets(boxes: Any, scores: Any) -> Any:
    best, labels = scores.max(dim=1)
    if boxes.numel() == 0:
        kept = torch.empty((0,), dtype=torch.int64)
    else:
        offsets = labels.to(boxes) * (boxes.max() + 1)
        kept = nms(boxes + offsets[:, None], best)
    return boxes[kept], labels[kept]


def best_of_many(boxes: Any, scores: Any) -> Any:
    flat = scores.flatten()
    count = min(5, flat.shape[0])
    values, places = flat.topk(count)
    return values, places % scores.shape[1], boxes[places // scores.shape[1]]


def top_of_what_is_left(boxes: Any, scores: Any) -> Any:
    kept = torch.where(scores > 0.4)
    values = scores[kept]
    values, order = values.topk(min(4, values.shape[0]))
    return values, kept[1][order], boxes[kept[0]][order]


def as_dictionary(boxes: Any, scores: Any) -> Any:
    results = []
    for part in (boxes, boxes * 2):
        keep = nms(part, scores[:, 0])
        results.append({"boxes": part[keep], "scores": scores[keep, 0]})
    return results


def two_images(boxes: Any, scores: Any) -> Any:
    counts, found = [], []
    for part, own in zip((boxes, boxes + 1), (scores[:, 0], scores[:, 1])):
        small = own > 0.5
        part, own = part[small], own[small]
        counts.append(part.shape[0])
        found.append(part[nms(part, own)])
    return torch.cat(found), torch.tensor(counts)


def best_only(boxes: Any, scores: Any) -> Any:
    chosen = boxes[scores[:, 0] > 0.6]
    if len(chosen) == 1:
        return chosen[0]
    if len(chosen) > 1:
        return chosen.mean(dim=0)
    return torch.zeros(4)


def largest_or_none(boxes: Any, scores: Any) -> Any:
    chosen = boxes[scores[:, 0] > 0.6]
    best = None
    if chosen.shape[0] > 0:
        sizes = (chosen[:, 2] - chosen[:, 0]) * (chosen[:, 3] - chosen[:, 1])
        best = chosen[sizes.argmax()]
    if best is None:
        return torch.zeros(4), False
    return best, True


def corners(boxes: Any, scores: Any) -> Any:
    centre, size = boxes[:, :2], boxes[:, 2:]
    made = torch.cat([centre - size / 2, centre + size / 2], dim=1)
    keep = nms(made, scores.amax(dim=1), 0.3)
    made = made[keep]
    made[:, 0::2] = made[:, 0::2].clamp(0, 9)
    return made[made[:, 2] > made[:, 0]]


def small_are_left_out(boxes: Any, scores: Any) -> Any:
    keep = torch.where((boxes[:, 2] - boxes[:, 0] >= 1) & (boxes[:, 3] - boxes[:, 1] >= 1))[0]
    boxes, best = boxes[keep], scores[keep].amax(dim=1)
    keep = torch.where(best >= 0.3)[0]
    boxes, best = boxes[keep], best[keep]
    keep = nms(boxes, best)[:2]
    return boxes[keep], best[keep]


def one_after_the_other(boxes: Any, scores: Any) -> Any:
    """Suppression as people write it themselves."""
    order = scores[:, 0].argsort(descending=True)
    boxes = boxes[order]
    kept = torch.ones(boxes.shape[0], dtype=torch.bool)
    for n in range(boxes.shape[0]):
        if kept[n]:
            low = torch.maximum(boxes[n, :2], boxes[:, :2])
            high = torch.minimum(boxes[n, 2:], boxes[:, 2:])
            common = (high - low).clamp(min=0).prod(dim=1)
            later = torch.arange(boxes.shape[0]) > n
            kept = kept & ~(later & (common > 2.0))
    return boxes[kept]


def widest_rows(boxes: Any, scores: Any) -> Any:
    found = []
    for box, score in zip(boxes, scores):
        if score.max() > 0.5:
            found.append(torch.cat([box, score]))
    if len(found) == 0:
        return torch.zeros(0, 6)
    return torch.stack(found)


PROGRAMS = (
    threshold_then_nms, numel_is_zero, of_each_class, of_each_class_that_is_there, by_offsets,
    best_of_many, top_of_what_is_left, as_dictionary, two_images, best_only, largest_or_none,
    corners, small_are_left_out, one_after_the_other, widest_rows,
)  # fmt: skip


def detections(count: int, seed: int, least: float = 0.0, most: float = 1.0) -> Any:
    made = torch.Generator().manual_seed(seed)
    first = torch.rand(count, 2, generator=made) * 6
    boxes = torch.cat([first, first + 0.5 + torch.rand(count, 2, generator=made) * 4], dim=1)
    return boxes, torch.rand(count, 2, generator=made) * (most - least) + least


@pytest.mark.share(4)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_of_boxes_are_of_run_time(function: Callable[..., Any]) -> None:
    shapes = ({0: DYNAMIC}, {0: DYNAMIC})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = "auto" if function in (*PROGRAMS[:2], one_after_the_other) else "source"
        program = exporter.export(
            Program(function), detections(6, 0), dynamic_shapes=shapes, capture=how
        )
    inputs = [detections(6, 1), detections(12, 2), detections(3, 3, 0.6)]
    for given in (*inputs, detections(5, 4, 0.0, 0.25), detections(2, 5)):
        wanted = pytree.tree_leaves(function(*given))
        found = pytree.tree_leaves(program(*given))
        for a, b in zip(wanted, found, strict=True):
            a, b = torch.as_tensor(a), torch.as_tensor(b)
            assert a.shape == b.shape
            torch.testing.assert_close(b, a, check_dtype=False)


def test_a_pooler_has_the_scales_of_its_first_images() -> None:
    """It keeps them for features of other sizes; how many boxes there are is known at run time."""

    class Pool(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pool = torchvision().ops.MultiScaleRoIAlign(["fine", "coarse"], 3, 2)

        def forward(self, fine: Any, coarse: Any, boxes: Any) -> Any:
            size = (fine.shape[2] * 4, fine.shape[3] * 4)
            kept = [boxes[boxes[:, 0] > 0]]
            return self.pool({"fine": fine, "coarse": coarse}, kept, [size])

    module = Pool().eval()
    sizes = {2: DYNAMIC, 3: DYNAMIC}
    boxes = torch.tensor([[3.0, 2, 20, 30], [0, 0, 60, 50], [1, 0, 60, 50]])
    example = (torch.rand(1, 2, 16, 20), torch.rand(1, 2, 8, 10), boxes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = exporter.export(
            module, example, dynamic_shapes=(sizes, sizes, {}), capture="source"
        )
    assert module.pool.scales is None
    for given in (example, (torch.rand(1, 2, 24, 12), torch.rand(1, 2, 12, 6), boxes / 2)):
        wanted = module(*given)
        torch.testing.assert_close(torch.as_tensor(program(*given)), wanted, rtol=1e-4, atol=1e-4)
