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
# Where a model has no limit (ALiBi), this many tokens.
_CONTEXT = 2048


def why_not(model: ir.Model) -> str:
    """Why onnxruntime-genai cannot hold the cache of a model; empty if it can.

    Args:
        model: the model.

    Returns:
        The reason: states that are not keys and values, or layers of different sizes.
    """
    shapes = {}
    for value in model.graph.inputs:
        name = str(value.name)
        if name.startswith(f"{PAST}."):
            _, layer, part = name.split(".", 2)
            if part not in ("key", "value"):
                return f"the cache has `{name}`, which is not the keys or values of a layer"
            shapes[int(layer), part] = [str(d) for d in value.shape or ()]
    if any(shape != next(iter(shapes.values())) for shape in shapes.values()):
        return "layers of the cache have different sizes"
    if {layer for layer, _ in shapes} != set(range(len(shapes) // 2)):
        return "some layers have no keys and values"
    return ""


def genai_config(config: Any, generation: Any, model: ir.Model, filename: str) -> dict[str, Any]:
    """The content of `genai_config.json`.

    Args:
        config: the configuration of a model of transformers.
        generation: its generation configuration, or None.
        model: the exported model.
        filename: the name of its file.

    Returns:
        What is written as JSON.

    Source:
        onnxruntime-genai, "Config reference".
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    names = [str(v.name) for v in model.graph.inputs]
    keys = [v for v in model.graph.inputs if str(v.name).endswith(".key")]
    shape: list[Any] = list(keys[0].shape or ())
    heads, size = int(shape[1]), int(shape[-1])
    context = getattr(text, "max_position_embeddings", None) or getattr(text, "seq_length", None)
    context = int(context or _CONTEXT)
    eos = _token(config, generation, "eos_token_id")
    pad = _token(config, generation, "pad_token_id")
    first = eos[0] if isinstance(eos, list) and eos else eos
    if pad is None:
        pad = first if first is not None else 0
    plain = ("input_ids", "attention_mask", "position_ids")
    decoder = {
        "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
        "filename": filename,
        "head_size": size,
        "hidden_size": int(text.hidden_size),
        "inputs": {name: name for name in plain if name in names}
        | {"past_key_names": f"{PAST}.%d.key", "past_value_names": f"{PAST}.%d.value"},
        "outputs": {
            "logits": "logits",
            "present_key_names": f"{PRESENT}.%d.key",
            "present_value_names": f"{PRESENT}.%d.value",
        },
        "num_attention_heads": int(getattr(text, "num_attention_heads", None) or heads),
        "num_hidden_layers": len(keys),
        "num_key_value_heads": heads,
    }
    bos = _token(config, generation, "bos_token_id")
    kind = str(getattr(text, "model_type", ""))
    return {
        "model": {
            "type": _TYPES.get(kind, "decoder"),
            "bos_token_id": bos if bos is not None else (first or 0),
            "eos_token_id": eos if eos is not None else pad,
            "pad_token_id": pad,
            "vocab_size": int(text.vocab_size),
            "context_length": context,
            "decoder": decoder,
        },
        "search": _search(generation, context),
    }


def _token(config: Any, generation: Any, name: str) -> Any:
    """The id of a special token, or a list of them; None where there is none."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    for place in (generation, text, config):
        found = getattr(place, name, None)
        if found is not None:
            return found
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
    given = {name: getattr(generation, name, None) for name in defaults}
    found = {n: defaults[n] if given[n] is None else given[n] for n in defaults}
    # The cache of the model grows; a buffer for all tokens would need another model.
    return found | {"max_length": context, "past_present_share_buffer": False}


__all__ = ["genai_config", "why_not"]
