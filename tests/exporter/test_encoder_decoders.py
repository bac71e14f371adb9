"""Encoders and decoders as two files: their tokens in ONNX Runtime are those of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import onnxwright as ow
from onnxwright.cli.main import main
from onnxwright.errors import ExportValueError
from onnxwright.exporter.capture.inputs.caches import register_caches
from onnxwright.exporter.decoders.encoder_decoder import DecoderPart, EncoderPart, decoder_program
from onnxwright.exporter.decoders.source_inputs import encoder_result, run_model, source_inputs
from onnxwright.quantize.rounding import dequantized, round_to_nearest

pytest.importorskip("transformers", reason="the models are of transformers")
ort = pytest.importorskip("onnxruntime", reason="the folders run in it")

from tests.exporter.decoder_models import PAIRS, decoder, pair  # noqa: E402 - needs transformers

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


def tokens_of(folder: Path, config: dict[str, Any], source: dict[str, Any], steps: int) -> Any:
    """Greedy tokens of a folder in ONNX Runtime, without any code of ours."""
    encoder, decoder = (
        ort.InferenceSession(str(folder / config["model"][part]["filename"]))
        for part in ("encoder", "decoder")
    )
    names = [v.name for v in encoder.get_outputs()]
    encoded = dict(zip(names, encoder.run(None, source), strict=True))
    feeds = {
        name.replace("present", "past_key_values"): array
        for name, array in encoded.items()
        if name.startswith("present")
    }
    inputs = {v.name: v for v in decoder.get_inputs()}
    for name in ("encoder_hidden_states", "encoder_attention_mask"):
        if name in inputs:
            feeds[name] = encoded.get(name, source.get("attention_mask"))
    batch = len(next(iter(source.values())))
    for name, value in inputs.items():
        if ".decoder." in name:
            heads, size = value.shape[1], value.shape[3]
            feeds[name] = np.zeros((batch, heads, 0, size), _TYPES[value.type])
    ids = np.full((batch, 1), config["model"]["decoder_start_token_id"])
    outputs = [v.name for v in decoder.get_outputs()]
    found = []
    for _ in range(steps):
        results = dict(zip(outputs, decoder.run(None, {**feeds, "input_ids": ids}), strict=True))
        ids = results["logits"][:, -1].argmax(-1)[:, None]
        found.append(ids[:, 0].tolist())
        feeds |= {
            name.replace("present", "past_key_values"): array
            for name, array in results.items()
            if name.startswith("present")
        }
    return np.array(found).T


def sources(model: Any, batch: int) -> dict[str, Any]:
    """What the encoder reads: rows with padding at the end where it reads tokens."""
    if model.main_input_name == "input_ids":
        ids = torch.tensor([[7, 11, 13, 17, 19], [5, 9, 4, 0, 0], [3, 4, 8, 6, 0]])[:batch]
        return {"input_ids": ids, "attention_mask": (ids != 0).long()}
    drawn = torch.Generator().manual_seed(3)
    return {"input_features": torch.randn(batch, 8, 60, generator=drawn)}


def check_tokens(model: Any, folder: Path, name: str, steps: int = 8) -> None:
    import transformers as hub

    config = json.loads((folder / name).read_text())
    for batch in (1, 3):
        given = sources(model, batch)
        model.generation_config = hub.GenerationConfig(
            decoder_start_token_id=config["model"]["decoder_start_token_id"],
            eos_token_id=99_999,
            pad_token_id=0,
        )
        how = {"max_new_tokens": steps, "do_sample": False}
        expected = hub.GenerationMixin.generate(model, **given, **how)[:, 1:].numpy()
        assert batch == 1 or len(set(expected.flat)) > 1  # not one token again and again
        arrays = {n: tensor.numpy() for n, tensor in given.items()}
        np.testing.assert_array_equal(tokens_of(folder, config, arrays, steps), expected)


def check(name: str, folder: Path) -> Any:
    model = pair(name)
    report = ow.export_decoder(model, folder)
    assert report.tokens_equal, str(report)
    assert [(c.batch, c.equal, c.total) for c in report.checks] == [(1, 12, 12), (3, 36, 36)]
    return model, report


def test_bart(tmp_path: Path, capsys: Any) -> None:
    """Written by transformers, read by the command."""
    model = pair("BartForConditionalGeneration", encoder_layers=1, decoder_layers=1)
    model.save_pretrained(tmp_path / "bart")
    assert main(["decoder", str(tmp_path / "bart"), "-o", str(tmp_path / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [(c["batch"], c["padded"], c["equal"]) for c in report["checks"]] == [
        (1, False, 12),
        (3, True, 36),
    ]
    assert report["files"] == [
        "decoder.onnx", "decoder.onnx.data", "decoder_config.json", "encoder.onnx",
        "encoder.onnx.data", "generation_config.json",
    ]  # fmt: skip
    assert report["type"] == ""
    assert "no type for bart" in report["notes"][0]
    check_tokens(model, tmp_path / "out", "decoder_config.json")
    inputs = [v.name for v in ow.load(tmp_path / "out" / "decoder.onnx").graph.inputs]
    assert {"past_key_values.0.decoder.key", "past_key_values.0.encoder.value"} < set(inputs)


@pytest.mark.slow
def test_whisper(tmp_path: Path) -> None:
    model, report = check("WhisperForConditionalGeneration", tmp_path / "out")
    assert report.type == "whisper"
    check_tokens(model, tmp_path / "out", "genai_config.json")
    config = json.loads((tmp_path / "out" / "genai_config.json").read_text())["model"]
    assert config["encoder"]["inputs"] == {"audio_features": "input_features"}
    assert config["context_length"] == 64


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PAIRS) - {"WhisperForConditionalGeneration"}))
def test_tokens(name: str, tmp_path: Path) -> None:
    model, report = check(name, tmp_path / "out")
    if model.main_input_name == "input_ids":
        check_tokens(model, tmp_path / "out", next(n for n in report.files if n.endswith("json")))


def error_of_rounding(model: Any, bits: int, block: int) -> float:
    """How far the logits of PyTorch are with the same rounded weights, of the largest one."""
    ids = torch.arange(1, 13)[None]
    with torch.no_grad():
        wanted = model(input_ids=ids, decoder_input_ids=ids).logits
        for layer in model.modules():
            if isinstance(layer, torch.nn.Linear):
                matrix = layer.weight.numpy().T
                rounded = dequantized(round_to_nearest(matrix, bits, block))
                layer.weight.copy_(torch.from_numpy(rounded.T.copy()))
        found = model(input_ids=ids, decoder_input_ids=ids).logits
    return float((found - wanted).abs().max() / wanted.abs().max())


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["float16", "int8", "int4"])
def test_smaller_weights(weights: str, tmp_path: Path) -> None:
    model = pair("BartForConditionalGeneration")
    report = ow.export_decoder(model, tmp_path / "out", weights=weights)
    bound = 0.02
    if weights != "float16":
        bound = 2 * error_of_rounding(model, *{"int8": (8, 0), "int4": (4, 32)}[weights])
    assert max(check.error for check in report.checks) < bound


def test_examples_of_the_encoder() -> None:
    model = pair("WhisperForConditionalGeneration")
    with pytest.raises(ExportValueError, match="no tensor `input_features`"):
        ow.export_decoder(model, "out", inputs={"features": torch.ones(1)})
    with pytest.raises(ExportValueError, match="does not run with an example"):
        ow.export_decoder(model, "out", inputs={"input_features": torch.ones(1, 8, 10)})
    with pytest.raises(ExportValueError, match="LlamaForCausalLM has no encoder"):
        ow.export_decoder(decoder("LlamaForCausalLM"), "out", inputs={"input_ids": torch.ones(1)})
    assert ow.cache_of(model, 3, 4).cross_attention_cache.layers[1].keys.shape == (3, 4, 30, 16)


def test_a_decoder_that_reads_one_token_is_refused() -> None:
    register_caches()
    model = pair("ProphetNetForConditionalGeneration")
    with pytest.raises(ExportValueError, match="does not read 3 tokens with a cache .*length 1"):
        decoder_program(model, source_inputs(model))


def test_an_encoder_that_gives_a_mask() -> None:
    """It has fewer positions than the sound that the encoder reads; the decoder reads this one."""
    model = pair("MoonshineForConditionalGeneration")
    source = source_inputs(model)
    sound, mask = source.inputs(2).values()
    assert source.masked
    given = {"input_values": sound, "attention_mask": mask}
    result = encoder_result(model, given)
    with torch.no_grad():
        encoder = EncoderPart(model, source, "cache", gives_mask=True)
        states, positions, crossed = encoder(sound, mask)
        assert torch.equal(positions, result.attention_mask)
        assert positions.shape == states.shape[:2] != mask.shape
        assert not positions.all()
        cache = run_model(model, given, 5)["cache"]
        assert torch.equal(cache.cross_attention_cache.layers[1].keys, crossed.layers[1].keys)
        decoder = DecoderPart(model, "cache", states.shape[-1], type(result))
        ids = torch.tensor([[1, 1, 1, 1, 1, 7, 8, 9]] * 2)
        found, _ = decoder(ids[:, 5:], cache, positions, states)
        wanted = model(**given, decoder_input_ids=ids).logits[:, 5:]
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
