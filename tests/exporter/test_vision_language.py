"""Qwen2-VL: its language model with any length; images, whose sizes are values, are refused."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the exporter takes PyTorch programs")
hub = pytest.importorskip("transformers", minversion="5.20", reason="it has the networks")

from torch import nn  # noqa: E402

import onnxwright as ow  # noqa: E402
from onnxwright.errors import ExportError  # noqa: E402
from tests.exporter.programs import check  # noqa: E402

IMAGE, BEGIN, END = 40, 41, 42
TEXT = {
    "vocab_size": 50, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "pad_token_id": 0,
    "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4},
}  # fmt: skip
VISION = {
    "depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 2,
    "patch_size": 2, "spatial_merge_size": 2, "temporal_patch_size": 1,
}  # fmt: skip


class Logits(nn.Module):
    """The model without a cache."""

    def __init__(self) -> None:
        super().__init__()
        config = hub.Qwen2VLConfig(
            text_config=TEXT, vision_config=VISION, image_token_id=IMAGE,
            vision_start_token_id=BEGIN, vision_end_token_id=END,
        )  # fmt: skip
        self.model = hub.Qwen2VLForConditionalGeneration(config)

    def forward(self, ids: Any, mask: Any, image: Any = None) -> Any:
        """Scores of the next words; an image has four by four patches."""
        given: dict[str, Any] = {"attention_mask": mask}
        if image is not None:
            sizes = torch.tensor([[1, 4, 4]])
            kinds = (ids == IMAGE).int()
            given = {"pixel_values": image, "image_grid_thw": sizes, "mm_token_type_ids": kinds}
        return self.model(input_ids=ids, use_cache=False, **given).logits


def test_text() -> None:
    """Positions of three axes, from a mask, at two other sizes."""
    torch.manual_seed(0)
    ids = torch.randint(1, 40, (2, 6))
    dynamic = {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}
    sizes = ({"batch": 1, "length": 4}, {"batch": 3, "length": 11})
    check(Logits().eval(), (ids, torch.ones_like(ids)), dynamic_shapes=dynamic, sizes=sizes)


def test_images_are_refused_with_the_line() -> None:
    """Their attention splits by values in a comprehension."""
    torch.manual_seed(0)
    ids = torch.tensor([[1, BEGIN, IMAGE, IMAGE, IMAGE, IMAGE, END, 3]])
    given = (ids, torch.ones_like(ids), torch.randn(16, 12))
    model = Logits().eval()
    assert model(*given).shape == (1, 8, 50)
    dynamic = ({1: "length"}, {1: "length"}, None)
    with pytest.raises(ExportError, match=r"OW842.*a comprehension over such values") as caught:
        ow.export(model, given, dynamic_shapes=dynamic, capture="source")
    assert "modeling_qwen2_vl.py" in str(caught.value)
