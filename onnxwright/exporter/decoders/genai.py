"""`genai_config.json`: what onnxruntime-genai reads beside a model."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from onnxwright.exporter.capture.inputs.cache_names import PAST, PRESENT

# Types of decoders in onnxruntime-genai whose inputs are those that are written here, by the
# `model_type` of transformers (src/models/model_type.h).  "decoder" is any other one.
_TYPES = {
    "ernie4_5": "ernie4_5",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3_text",
    "gpt_oss": "gptoss",
    "granite": "granite",
    "internlm2": "internlm2",
    "llama": "llama",
    "mistral": "mistral",
    "nemotron": "nemotron",
    "olmo": "olmo",
    "phi": "phi",
    "phi3": "phi3",
    "phimoe": "phimoe",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "smollm3": "smollm3",
}
# Types with an encoder and a decoder, and the name of the input of the encoder.
_ENCODER_TYPES = {"whisper": "audio_features"}
# Where a model has no limit (ALiBi), this many tokens.
_CONTEXT = 2048


def why_not(model: ir.Model) -> str:
    """Why onnxruntime-genai cannot hold the cache of a model; empty if it can.

    Returns:
        The reason: states that are not keys and values, or tensors of different sizes.
    """
    shapes: dict[tuple[int, str], list[str]] = {}
    for value in model.graph.inputs:
        name = str(value.name)
        if name.startswith(f"{PAST}."):
            _, layer, part = name.split(".", 2)
            if part not in ("key", "value"):
                return (
                    f"`{name}` is a state, with which the model reads one token in a call, and"
                    " onnxruntime-genai gives it all tokens of a prompt in one call"
                )
            shapes[int(layer), part] = [str(d) for d in value.shape or ()]
    kinds = {part: {tuple(s) for (_, p), s in shapes.items() if p == part} for _, part in shapes}
    if any(len(kind) > 1 for kind in kinds.values()):
        return "layers of the cache have different sizes, and onnxruntime-genai has one for all"
    if len(set().union(*kinds.values())) > 1:
        return "keys and values have different sizes, and onnxruntime-genai has one for both"
    if {layer for layer, _ in shapes} != set(range(len(shapes) // 2)):
        return "some layers have no keys and values"
    return ""


def knows_encoder(config: Any) -> bool:
    """Whether onnxruntime-genai has a type for a model with an encoder and a decoder."""
    return str(getattr(config, "model_type", "")) in _ENCODER_TYPES


def genai_config(config: Any, generation: Any, model: ir.Model, filename: str) -> dict[str, Any]:
    """The content of `genai_config.json`.

    Source:
        onnxruntime-genai, "Config reference".
    """
    text = _text(config)
    names = [str(v.name) for v in model.graph.inputs]
    plain = ("input_ids", "attention_mask", "position_ids")
    decoder = _part(text, model.graph.inputs, f"{PAST}.", filename) | {
        "inputs": {name: name for name in plain if name in names}
        | {"past_key_names": f"{PAST}.%d.key", "past_value_names": f"{PAST}.%d.value"},
        "outputs": {
            "logits": "logits",
            "present_key_names": f"{PRESENT}.%d.key",
            "present_value_names": f"{PRESENT}.%d.value",
        },
    }
    kind = _TYPES.get(str(getattr(text, "model_type", "")), "decoder")
    return _whole(config, generation, kind, {"decoder": decoder})


def other_config(config: Any, generation: Any, model: ir.Model, filename: str) -> dict[str, Any]:
    """What a program reads about a model that onnxruntime-genai cannot run.

    Returns:
        What is written as JSON: as `genai_config`, with the type of transformers, and `cache`, for
        each input of the cache the output that is its value in the next call.
    """
    text = _text(config)
    names = [str(v.name) for v in model.graph.inputs]
    past = [name for name in names if name.startswith(f"{PAST}.")]
    decoder = {
        "filename": filename,
        "hidden_size": int(text.hidden_size),
        "num_hidden_layers": len({name.split(".")[1] for name in past}),
        "inputs": {name: name for name in names if name not in past},
        "outputs": {"logits": "logits"},
        "cache": {name: PRESENT + name[len(PAST) :] for name in past},
    }
    kind = str(getattr(text, "model_type", ""))
    return _whole(config, generation, kind, {"decoder": decoder})


def encoder_decoder_config(
    config: Any, generation: Any, encoder: ir.Model, decoder: ir.Model, start: int
) -> dict[str, Any]:
    """The same for an encoder and a decoder, in `encoder.onnx` and `decoder.onnx`.

    Args:
        start: the token that the decoder begins with.

    Returns:
        What is written as JSON; where onnxruntime-genai has no type for it, the type is that of
        transformers.
    """
    text = _text(config)
    kind = str(getattr(config, "model_type", ""))
    names = [str(v.name) for v in encoder.graph.inputs]
    inputs = {name: name for name in names}
    if kind in _ENCODER_TYPES:
        inputs = {_ENCODER_TYPES[kind]: names[0]} | {name: name for name in names[1:]}
    plain = [n for v in decoder.graph.inputs if not (n := str(v.name)).startswith(f"{PAST}.")]
    parts = {
        "encoder": _part(text, encoder.graph.outputs, f"{PRESENT}.", "encoder.onnx")
        | {
            "inputs": inputs,
            "outputs": {"encoder_hidden_states": "encoder_hidden_states"}
            | _cache_names("cross_present", f"{PRESENT}.%d.encoder"),
        },
        "decoder": _part(text, decoder.graph.inputs, f"{PAST}.", "decoder.onnx")
        | {
            "inputs": {name: name for name in plain}
            | _cache_names("past", f"{PAST}.%d.decoder")
            | _cache_names("cross_past", f"{PAST}.%d.encoder"),
            "outputs": {"logits": "logits"} | _cache_names("present", f"{PRESENT}.%d.decoder"),
        },
    }
    return _whole(config, generation, kind, parts | {"decoder_start_token_id": start})


def _cache_names(word: str, name: str) -> dict[str, str]:
    return {f"{word}_{part}_names": f"{name}.{part}" for part in ("key", "value")}


def _text(config: Any) -> Any:
    """The configuration of the part that reads and writes text."""
    if hasattr(getattr(config, "decoder", None), "vocab_size"):
        return config.decoder
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _part(text: Any, values: Any, word: str, filename: str) -> dict[str, Any]:
    """Sizes of one file: those of the keys of a cache among its values."""
    keys = [v for v in values if str(v.name).startswith(word) and str(v.name).endswith(".key")]
    layers = {str(v.name).split(".")[1] for v in keys}
    shape: list[Any] = list(keys[0].shape or ())
    heads, size = int(shape[1]), int(shape[-1])
    return {
        "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
        "filename": filename,
        "head_size": size,
        "hidden_size": int(text.hidden_size),
        "num_attention_heads": int(getattr(text, "num_attention_heads", None) or heads),
        "num_hidden_layers": len(layers),
        "num_key_value_heads": heads,
    }


def _whole(config: Any, generation: Any, kind: str, parts: dict[str, Any]) -> dict[str, Any]:
    """The file: special tokens, lengths, how tokens are chosen, and its parts."""
    text = _text(config)
    limits = ("max_target_positions", "max_position_embeddings", "seq_length", "n_positions")
    context = int(next(filter(None, (getattr(text, name, None) for name in limits)), _CONTEXT))
    eos = _token(config, generation, "eos_token_id")
    pad = _token(config, generation, "pad_token_id")
    first = eos[0] if isinstance(eos, list) and eos else eos
    if pad is None:
        pad = first if first is not None else 0
    bos = _token(config, generation, "bos_token_id")
    return {
        "model": {
            "type": kind,
            "bos_token_id": bos if bos is not None else (first or 0),
            "eos_token_id": eos if eos is not None else pad,
            "pad_token_id": pad,
            "vocab_size": int(text.vocab_size),
            "context_length": context,
            **parts,
        },
        "search": _search(generation, context),
    }


def _token(config: Any, generation: Any, name: str) -> Any:
    """The id of a special token, or a list of them; None where there is none."""
    text = _text(config)
    for place in (generation, text, config):
        token_id = getattr(place, name, None)
        if token_id is not None:
            return token_id
    return None


def _search(generation: Any, context: int) -> dict[str, Any]:
    """How tokens are chosen: what the generation configuration says, else greedily."""
    defaults: dict[str, Any] = {
        "diversity_penalty": 0.0,
        "do_sample": False,
        "early_stopping": True,
        "length_penalty": 1.0,
        "min_length": 0,
        "no_repeat_ngram_size": 0,
        "num_beams": 1,
        "num_return_sequences": 1,
        "repetition_penalty": 1.0,
        "temperature": 1.0,
        "top_k": 50,
        "top_p": 1.0,
    }
    configured = {name: getattr(generation, name, None) for name in defaults}
    options = {n: defaults[n] if configured[n] is None else configured[n] for n in defaults}
    # The cache of the model grows; a buffer for all tokens would need another model.
    return options | {"max_length": context, "past_present_share_buffer": False}
