"""Longformer and LED: attention to all tokens where a mask asks for it, and without."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="the models are those of transformers")

from onnxwright import exporter  # noqa: E402

SMALL = {"vocab_size": 50, "attention_window": [4]}


def longformer() -> Any:
    """A Longformer of one layer."""
    config = transformers.LongformerConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=40, **SMALL,
    )  # fmt: skip
    return transformers.LongformerModel(config)


def led() -> Any:
    """An LED of one layer on each side."""
    config = transformers.LEDConfig(
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
        max_encoder_position_embeddings=40, max_decoder_position_embeddings=40, **SMALL,
    )  # fmt: skip
    return transformers.LEDModel(config)


class Hidden(torch.nn.Module):
    """The last hidden states of a model."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any, mask: Any, chosen: Any) -> Any:
        found = self.model(ids, attention_mask=mask, global_attention_mask=chosen)
        return found.last_hidden_state


def masks() -> list[tuple[Any, Any]]:
    """Padding and global attention: none, the first token, tokens of other numbers in each row."""
    full = torch.ones(2, 8, dtype=torch.long)
    padded = full.clone()
    padded[0, 5:] = 0
    first, some = torch.zeros(2, 2, 8, dtype=torch.long)
    first[:, 0] = 1
    some[0, :3] = some[1, 6] = 1
    none = torch.zeros_like(full)
    return [(full, first), (full, none), (padded, none), (padded, first), (full, some)]


@pytest.mark.slow  # large networks; `test_networks.py` has decisions by values in the default run
@pytest.mark.parametrize("make", [longformer, led], ids=["longformer", "led"])
def test_both_outcomes_of_global_attention(make: Any) -> None:
    torch.manual_seed(0)
    module = Hidden(make()).eval()
    ids = torch.randint(3, 50, (2, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = exporter.export(module, (ids, *masks()[0]), capture="source")
    choices = [c.text for c in program.report.captures[-1].choices if c.kind == "If"]
    assert choices == ["if is_global_attn:"] * 3
    for mask, chosen in masks():
        with torch.no_grad():
            wanted = module(ids, mask, chosen)
        found = torch.as_tensor(program(ids, mask, chosen))
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
