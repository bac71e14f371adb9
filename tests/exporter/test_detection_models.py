"""torchvision's detection models, exported with run-time numbers of boxes, beside PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from onnxwright import exporter
from tests.exporter.torchvision_operators import torchvision

pytestmark = pytest.mark.slow

DYNAMIC = torch.export.Dim.DYNAMIC
SMALL = {"min_size": 64, "max_size": 96, "num_classes": 5}
FEW = {"topk_candidates": 50, "detections_per_img": 10, "num_classes": 5}
TWO_STAGES = {
    "rpn_pre_nms_top_n_test": 50,
    "rpn_post_nms_top_n_test": 20,
    "box_detections_per_img": 10,
}
MODELS: dict[str, dict[str, Any]] = {
    "ssd300_vgg16": {**FEW, "score_thresh": 0.9},
    "ssdlite320_mobilenet_v3_large": {**FEW, "score_thresh": 0.97},
    "retinanet_resnet50_fpn": {**SMALL, **FEW, "score_thresh": 0.9835},
    "fcos_resnet50_fpn": {**SMALL, **FEW, "score_thresh": 0.74},
    "fasterrcnn_resnet50_fpn": {**SMALL, **TWO_STAGES, "box_score_thresh": 0.25},
    "maskrcnn_resnet50_fpn": {**SMALL, **TWO_STAGES, "box_score_thresh": 0.53},
    "keypointrcnn_resnet50_fpn": {
        **SMALL,
        **TWO_STAGES,
        "num_classes": 2,
        "num_keypoints": 4,
        "box_score_thresh": 0.55,
    },
}
LAYERS = (torch.nn.Conv2d, torch.nn.Linear)


def with_distinct_scores(model: Any, images: Any) -> Any:
    """The model with weights by which each layer's results have about unit variance."""
    made = torch.Generator().manual_seed(1)
    seen: set[Any] = set()

    def scale(layer: Any, args: Any, result: Any) -> Any:
        if layer in seen or not result.numel():
            return None
        seen.add(layer)
        spread = result.std()
        layer.weight.data /= spread
        if layer.bias is not None:
            layer.bias.data.zero_()
        return result / spread

    hooks = []
    for layer in model.modules():
        if isinstance(layer, LAYERS):
            layer.weight.data.normal_(generator=made)
            hooks.append(layer.register_forward_hook(scale))
    with torch.no_grad():
        model(images)
    for hook in hooks:
        hook.remove()
    return model


@pytest.mark.parametrize("opset", [20, None])
@pytest.mark.parametrize("name", MODELS)
def test_a_detection_model(name: str, opset: int | None) -> None:
    if opset == 20 and not name.startswith("fasterrcnn"):
        pytest.skip("no operator of it is another one in newer versions")
    detection = torchvision().models.detection
    torch.manual_seed(0)
    make = getattr(detection, name)
    model = make(weights=None, weights_backbone=None, **MODELS[name]).eval()
    images = [torch.rand(3, 80, 70)]
    model = with_distinct_scores(model, images)
    shapes = ([{1: DYNAMIC, 2: DYNAMIC}],)
    options: dict[str, Any] = {} if opset is None else {"opset_version": opset}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = exporter.export(
            model, (images,), dynamic_shapes=shapes, capture="source", **options
        )
    counts = set()
    sizes = ((80, 70), (50, 120))
    for scale in (1.0, 0.5):
        for size in sizes:
            torch.manual_seed(2)
            given = [torch.rand(3, *size) * scale]
            with torch.no_grad():
                wanted = model(given)
            found = program(given)
            counts.add(len(wanted[0]["boxes"]))
            for a, b in zip(pytree.tree_leaves(wanted), pytree.tree_leaves(found), strict=True):
                torch.testing.assert_close(torch.as_tensor(b), a, rtol=1e-3, atol=1e-3)
    assert any(counts)
    assert 0 in counts or name.startswith("fasterrcnn"), counts  # no box in one of the images
    if opset == 20:
        kinds = [node.op_type for node in program.model.graph]
        assert kinds.count("RoiAlign") == 4  # one for each level
        assert "Scan" not in kinds


def test_the_sizes_of_images_stay_dynamic() -> None:
    transform = torchvision().models.detection.transform.GeneralizedRCNNTransform

    class Batch(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transform = transform(64, 96, [0.4] * 3, [0.2] * 3)

        def forward(self, images: list[Any]) -> Any:
            made, _ = self.transform(images)
            return made.tensors, made.image_sizes

    module = Batch().eval()
    program = exporter.export(
        module, ([torch.rand(3, 80, 70)],), dynamic_shapes=([{1: DYNAMIC, 2: DYNAMIC}],)
    )
    for size in ((80, 70), (64, 64), (50, 120), (33, 90)):
        images = [torch.rand(3, *size)]
        (wanted, sizes), (found, theirs) = module(images), program(images)
        assert [tuple(map(int, s)) for s in theirs] == [tuple(s) for s in sizes]
        torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=1e-4, atol=1e-4)
