"""Decoders whose angles of positions depend on the number of tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError
from onnxwright.exporter.decoders.model_caches import tokens_with_equal_angles

pytest.importorskip("transformers", reason="the models are of transformers")
ort = pytest.importorskip("onnxruntime", reason="the folders run in it")

from tests.exporter.decoder_models import decoder  # noqa: E402 - needs transformers

_THETA = {"rope_theta": 10_000.0}
DYNAMIC = _THETA | {"rope_type": "dynamic", "factor": 2.0}


def of_long_texts(limit: int) -> Any:
    """A model with other angles beyond a number of tokens."""
    rope = _THETA | {
        "rope_type": "longrope",
        "short_factor": [1.0] * 8,
        "long_factor": [2.0] * 8,
        "original_max_position_embeddings": limit,
    }
    return decoder(
        "Phi3ForCausalLM",
        num_hidden_layers=1,
        original_max_position_embeddings=limit,
        rope_parameters=rope,
    )


@pytest.mark.parametrize(
    ("name", "options", "count"),
    [
        ("LlamaForCausalLM", {}, 0),
        ("LlamaForCausalLM", {"rope_parameters": DYNAMIC}, 128),
        ("GPT2LMHeadModel", {}, 0),  # positions of a table
        ("MptForCausalLM", {}, 0),  # no positions
        ("Gemma3ForCausalLM", {}, 0),
    ],
)
def test_when_angles_change(name: str, options: dict[str, Any], count: int) -> None:
    model = decoder(name, **options)
    ids = torch.arange(1, 9)[None]
    before = model(ids).logits
    assert tokens_with_equal_angles(model) == count
    assert torch.equal(model(ids).logits, before)  # the far position is forgotten


def test_a_longer_text_is_told_without_verification(tmp_path: Path) -> None:
    """As the note says: right up to the number of tokens, and beyond it with an empty cache."""
    model = of_long_texts(6)
    report = ow.export_decoder(model, tmp_path / "out", verify=False)
    assert "beyond 6 tokens the angles" in report.notes[0]
    session = ort.InferenceSession(str(tmp_path / "out" / "model.onnx"))
    empty = {
        v.name: np.zeros((1, v.shape[1], 0, v.shape[3]), np.float32)
        for v in session.get_inputs()
        if v.name.startswith("past")
    }
    for length in (6, 7, 12):
        ids = torch.arange(1, 1 + length)[None]
        given = {
            "input_ids": ids.numpy(),
            "attention_mask": np.ones((1, length), np.int64),
            "position_ids": np.arange(length)[None],
        }
        logits = session.run(["logits"], {**given, **empty})[0]
        with torch.no_grad():
            wanted = model(ids).logits.numpy()
        np.testing.assert_allclose(logits, wanted, atol=1e-4)


@pytest.mark.slow
def test_a_longer_text_is_told_where_tokens_differ(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="OW828") as raised:
        ow.export_decoder(of_long_texts(8), tmp_path / "out")
    assert "beyond 8 tokens the angles" in str(raised.value)
    report = ow.export_decoder(of_long_texts(64), tmp_path / "out")
    assert report.tokens_equal
    assert "beyond 64 tokens" in report.notes[0]


@pytest.mark.slow
def test_angles_that_a_module_keeps_are_those_of_each_text(tmp_path: Path) -> None:
    model = decoder("LlamaForCausalLM", num_hidden_layers=1, rope_parameters=DYNAMIC)
    with pytest.warns(ow.errors.OnnxwrightWarning, match=r"OW839.*inv_freq"):
        report = ow.export_decoder(model, tmp_path / "out")
    assert report.tokens_equal
    assert "beyond 128 tokens the angles of all positions change" in report.notes[0]
    for length in (8, 129, 200):
        ids = torch.arange(1, 1 + length)[None] % 50
        empty = np.zeros((1, 2, 0, 16), np.float32)
        given = {
            "input_ids": ids.numpy(),
            "attention_mask": np.ones((1, length), np.int64),
            "position_ids": np.arange(length)[None],
            "past_key_values.0.key": empty,
            "past_key_values.0.value": empty,
        }
        logits = ow.run_model(tmp_path / "out" / "model.onnx", given)[0]
        fresh = decoder("LlamaForCausalLM", num_hidden_layers=1, rope_parameters=DYNAMIC)
        fresh.load_state_dict(model.state_dict())
        wanted = fresh(ids).logits.detach().numpy()
        np.testing.assert_allclose(logits, wanted, rtol=1e-3, atol=1e-4)
