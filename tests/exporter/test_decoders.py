"""Decoders as folders: their tokens in plain ONNX Runtime are those of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import onnxwright as ow
from onnxwright.cli.main import main
from onnxwright.errors import ExportError, ExportValueError

pytest.importorskip("transformers", reason="the models are of transformers")
ort = pytest.importorskip("onnxruntime", reason="the folders run in it")

from tests.exporter.decoder_models import MODELS, STATES, decoder  # noqa: E402 - needs transformers

# Prompts of one and of three rows, padded on the left with 0.
ONE = [[7, 11, 13, 17]]
THREE = [[0, 0, 5, 9], [7, 11, 13, 17], [0, 3, 4, 8]]
MASKS = {1: [[1, 1, 1, 1]], 3: [[0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]]}
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


def tokens_of(folder: Path, ids: list[list[int]], mask: list[list[int]], steps: int) -> Any:
    """Greedy tokens of a folder in ONNX Runtime, without any code of ours."""
    config = json.loads((folder / "genai_config.json").read_text())["model"]["decoder"]
    session = ort.InferenceSession(str(folder / config["filename"]))
    layers = range(config["num_hidden_layers"])
    names = {}
    for part in ("key", "value"):
        past, present = (
            config[side][f"{word}_{part}_names"]
            for side, word in (("inputs", "past"), ("outputs", "present"))
        )
        names |= {past % n: present % n for n in layers}
    types = {v.name: _TYPES.get(v.type, np.int64) for v in session.get_inputs()}
    heads, size = config["num_key_value_heads"], config["head_size"]
    feeds = {past: np.zeros((len(ids), heads, 0, size), types[past]) for past in names}
    now, seen = np.array(ids), np.array(mask)
    found = []
    for _ in range(steps):
        feeds |= {"input_ids": now, "attention_mask": seen}
        if "position_ids" in types:
            feeds["position_ids"] = np.maximum(seen.cumsum(1) - 1, 0)[:, -now.shape[1] :]
        results = session.run(["logits", *names.values()], feeds)
        now = results[0][:, -1].argmax(-1)[:, None]
        seen = np.concatenate([seen, np.ones_like(now)], 1)
        feeds = dict(zip(names, results[1:], strict=True))
        found.append(now[:, 0].tolist())
    return np.array(found).T


def expected_of(model: Any, ids: list[list[int]], mask: list[list[int]], steps: int) -> Any:
    made = model.generate(
        torch.tensor(ids),
        attention_mask=torch.tensor(mask),
        do_sample=False,
        max_new_tokens=steps,
        eos_token_id=model.config.vocab_size,
        pad_token_id=0,
    )
    return made[:, len(ids[0]) :].numpy()


def check_tokens(model: Any, folder: Path, steps: int = 8) -> None:
    for ids in (ONE, THREE):
        mask = MASKS[len(ids)]
        expected = expected_of(model, ids, mask, steps)
        assert len(set(expected.flat)) >= 3  # more than one token again and again
        np.testing.assert_array_equal(tokens_of(folder, ids, mask, steps), expected)


def on_a_grid(model: Any) -> Any:
    """The model with weights that four bits hold exactly: blocks of -8 to 7, times 1/32."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                steps = torch.randint(-7, 8, module.weight.shape, generator=generator)
                steps[:, ::32] = -8
                module.weight.copy_(steps / 32)
    return model


def test_tokens_of_a_llama_with_four_bits(tmp_path: Path) -> None:
    model = on_a_grid(decoder("LlamaForCausalLM", num_hidden_layers=1))
    # Its operator computes in float32; for DequantizeLinear it rounds activations, too.
    report = ow.export_decoder(model, tmp_path / "out", weights="int4", target="onnxruntime")
    assert report.tokens_equal, str(report)
    assert [(c.batch, c.padded, c.equal, c.total) for c in report.checks] == [
        (1, False, 12, 12),
        (3, True, 36, 36),
    ]
    kinds = [node.op_type for node in ow.load(tmp_path / "out" / "model.onnx").graph]
    assert kinds.count("MatMulNBits") == 8  # seven of the layer, and the head
    check_tokens(model, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "genai_config.json").read_text())
    assert config["model"]["type"] == report.type == "llama"
    assert config["model"]["context_length"] == config["search"]["max_length"] == 128
    assert config["model"]["eos_token_id"] == 2


def test_tokens_of_a_folder_with_half_precision(tmp_path: Path, capsys: Any) -> None:
    """Written by transformers, read by the command; the other files come along."""
    model = decoder("GPT2LMHeadModel", n_positions=64, n_layer=1)
    model.save_pretrained(tmp_path / "gpt2")
    (tmp_path / "gpt2" / "tokenizer.json").write_text("{}")
    command = ["decoder", str(tmp_path / "gpt2"), "-o", str(tmp_path / "out")]
    assert main([*command, "--weights", "float16", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["type"] == "decoder"
    assert report["weights"] == "float16"
    assert {"tokenizer.json", "generation_config.json"} < set(report["files"])
    assert set(report["files"]) == {file.name for file in (tmp_path / "out").iterdir()}
    assert all(c["equal"] == c["total"] for c in report["checks"])
    check_tokens(model, tmp_path / "out")


def test_a_module_in_bfloat16_is_exported_in_float32(tmp_path: Path) -> None:
    model = decoder("LlamaForCausalLM", num_hidden_layers=1).bfloat16()
    report = ow.export_decoder(model, tmp_path / "out")
    assert report.tokens_equal, str(report)
    weights = ow.load(tmp_path / "out" / "model.onnx").graph.initializers.values()
    assert not any(weight.dtype.name == "BFLOAT16" for weight in weights)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}


def test_tokens_past_the_window_of_a_layer(tmp_path: Path) -> None:
    model = decoder("Gemma3ForCausalLM")
    ow.export_decoder(model, tmp_path / "out")
    check_tokens(model, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MODELS if n != "Gemma3ForCausalLM"])
def test_tokens(name: str, tmp_path: Path) -> None:
    model = decoder(name)
    report = ow.export_decoder(model, tmp_path / "out")
    assert report.tokens_equal, str(report)
    check_tokens(model, tmp_path / "out")


def check_one_by_one(model: Any, folder: Path, steps: int = 6) -> None:
    """Tokens of a model with states in ONNX Runtime: prompts are read one token at a time."""
    session = ort.InferenceSession(str(folder / "model.onnx"))
    inputs = {v.name: v for v in session.get_inputs()}
    outputs = [v.name for v in session.get_outputs()]
    config = json.loads(next(folder.glob("*_config.json")).read_text())["model"]["decoder"]
    past = config.get("cache") or [name for name in inputs if name.startswith("past_key_values")]
    for ids in (ONE, THREE):
        mask = MASKS[len(ids)]
        expected = expected_of(model, ids, mask, steps)
        sizes = {"batch": len(ids), "past": 0}
        feeds = {
            name: np.zeros([sizes.get(d, d) for d in inputs[name].shape], np.float32)
            for name in past
        }
        text, seen = np.array(ids), np.array(mask)
        for end in range(1, len(ids[0]) + steps):
            feeds |= {"input_ids": text[:, end - 1 : end], "attention_mask": seen[:, :end]}
            if "position_ids" in inputs:
                feeds["position_ids"] = np.maximum(seen[:, :end].cumsum(1) - 1, 0)[:, -1:]
            results = dict(zip(outputs, session.run(None, feeds), strict=True))
            feeds = {n: results[n.replace("past_key_values", "present")] for n in past}
            if end == text.shape[1]:
                text = np.concatenate([text, results["logits"][:, -1].argmax(-1)[:, None]], 1)
                seen = np.concatenate([seen, np.ones_like(seen[:, :1])], 1)
        np.testing.assert_array_equal(text[:, len(ids[0]) :], expected)


def test_tokens_of_a_model_with_states(tmp_path: Path) -> None:
    model = decoder("MambaForCausalLM", num_hidden_layers=1)
    report = ow.export_decoder(model, tmp_path / "out")
    assert report.tokens_equal, str(report)
    assert report.files == ("decoder_config.json", "model.onnx", "model.onnx.data")
    assert "conv_states" in report.notes[0]
    check_one_by_one(model, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "decoder_config.json").read_text())["model"]
    assert (config["type"], config["vocab_size"]) == ("mamba", 100)
    assert config["decoder"]["num_hidden_layers"] == 1
    assert config["decoder"]["cache"]["past_key_values.0.recurrent_states.0"] == (
        "present.0.recurrent_states.0"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in STATES if n != "MambaForCausalLM"])
def test_tokens_of_models_with_states(name: str, tmp_path: Path) -> None:
    model = decoder(name)
    report = ow.export_decoder(model, tmp_path / "out")
    assert report.tokens_equal, str(report)
    check_one_by_one(model, tmp_path / "out")


class WithoutMask(torch.nn.Module):
    """A model that forgets the attention mask."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.config = model.config
        self.generation_config = model.generation_config
        self.generate = model.generate

    def forward(
        self, input_ids: Any, attention_mask: Any = None, cache: Any = None, use_cache: Any = 0
    ):  # type: ignore[no-untyped-def]
        del attention_mask
        return self.model(input_ids, cache=cache, use_cache=True)


def test_a_failing_export_leaves_the_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.onnx").write_text("before")
    model = WithoutMask(decoder("LlamaForCausalLM", num_hidden_layers=1))
    with pytest.raises(ExportError, match="OW828") as raised:
        ow.export_decoder(model, tmp_path / "out")
    assert "does not use the mask" in str(raised.value)
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "model.onnx").read_text() == "before"
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["model.onnx"]


def test_what_is_refused(tmp_path: Path) -> None:
    import transformers as hub

    both = hub.T5ForConditionalGeneration(
        hub.T5Config(vocab_size=20, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
    )
    for model, options, words in (
        (torch.nn.ReLU(), {}, "is not a causal language model"),
        (str(tmp_path), {}, "is not a folder with a `config.json`"),
        (both, {"weights": "int2"}, "int2"),
    ):
        with pytest.raises(ExportValueError, match=words):
            ow.export_decoder(model, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    with pytest.raises(ExportValueError, match="does not run with input_ids"):
        ow.cache_of(torch.nn.Identity())


def test_the_cache_of_an_encoder_and_a_decoder() -> None:
    import transformers as hub

    model = hub.T5ForConditionalGeneration(
        hub.T5Config(vocab_size=20, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
    ).eval()
    cache = ow.cache_of(model, batch=2, past=3, source=5)
    assert cache.self_attention_cache.layers[0].keys.shape == (2, 2, 3, 4)
    assert cache.cross_attention_cache.layers[0].values.shape == (2, 2, 5, 4)
