"""Architectures of the package transformers, tiny and with random weights, as programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim


class _Hub:
    """The package transformers, imported when the first network is made."""

    def __getattr__(self, name: str) -> Any:
        import transformers

        return getattr(transformers, name)


hub = _Hub()

# Positions end somewhere; a bound that is given saves torch a second capture.
B, S, T = "batch", Dim("length", max=32), Dim("target", max=16)
_TEXT = {"input_ids": {0: B, 1: S}, "attention_mask": {0: B, 1: S}}
_SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
# What layers share is in bert and llama_cache; others of the default run have one layer.
_ONE_LAYER = {"num_hidden_layers": 1}
_WORDS = {"vocab_size": 100, "max_position_embeddings": 64}
_GROUPED = {**_SMALL, **_WORDS, "num_key_value_heads": 2, "head_dim": 8, "use_cache": False}
_PICTURE = {**_SMALL, "image_size": 32, "patch_size": 8}
_BOTH = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": 100,
}
_ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}


@dataclass(frozen=True)
class Made:
    """A network, made.

    Fields:
        model: the module.
        kwargs: example inputs.
        dynamic: for each input that has dynamic axes, their names.
    """

    model: Any
    kwargs: dict[str, Any]
    dynamic: dict[str, Any] | None


@dataclass(frozen=True)
class Network:
    """An architecture.

    Fields:
        name: the name of the test.
        kind: what it is for.
        make: makes it.
        slow: whether it is left out of the default run.
        grows: whether it decides by sizes: a table grows for long inputs, one token has no mask.
        always: the loops over values of the input that have an iteration with every input.
    """

    name: str
    kind: str
    make: Callable[[], Made]
    slow: bool
    grows: bool = False
    always: tuple[str, ...] = ()


NETWORKS: list[Network] = []


def _network(
    kind: str, *, slow: bool = False, grows: bool = False, always: tuple[str, ...] = ()
) -> Callable[[Callable[[], Made]], None]:
    def add(make: Callable[[], Made]) -> None:
        NETWORKS.append(Network(make.__name__, kind, make, slow, grows, always))

    return add


def made(network: Network) -> tuple[Any, dict[str, Any], Any]:
    """A network's module, example inputs and dynamic shapes, the same ones at every call."""
    torch.manual_seed(0)
    built = network.make()
    dynamic = built.dynamic
    if dynamic is not None:
        dynamic = {name: dynamic.get(name) for name in built.kwargs}
    return built.model.eval(), built.kwargs, dynamic


def _ids(batch: int = 2, length: int = 6) -> torch.Tensor:
    return torch.randint(3, 90, (batch, length))


def _text(model: Any) -> Made:
    """A network of words, some of them masked."""
    ids = _ids()
    mask = torch.ones_like(ids)
    mask[1, -2:] = 0
    return Made(model, {"input_ids": ids, "attention_mask": mask}, _TEXT)


def _image(model: Any) -> Made:
    return Made(model, {"pixel_values": torch.randn(2, 3, 32, 32)}, {"pixel_values": {0: B}})


def _sound(model: Any) -> Made:
    return Made(model, {"input_values": torch.randn(2, 400)}, {"input_values": {0: B}})


def _next_word(model: Any, heads: int, past: int = 5) -> Made:
    """One further word beside a cache of keys and values."""
    cache = _cache(heads, past)
    axes = [[{0: B, 2: Dim.AUTO}] * 2] * 2  # keys of each layer, then values
    return Made(
        model,
        {
            "input_ids": _ids(2, 1),
            "attention_mask": torch.ones(2, past + 1, dtype=torch.long),
            "past_key_values": cache,
        },
        {"input_ids": {0: B}, "attention_mask": {0: B, 1: Dim.AUTO}, "past_key_values": axes},
    )


# -- one call of a class ---------------------------------------------------------------------------

_ENDS_OF_TEXT = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_PAIR = {"input_ids": {0: B, 1: S}, "decoder_input_ids": {0: B, 1: T}}


def _pair(model: Any) -> Made:
    """A network that reads words and writes others."""
    return Made(model, {"input_ids": _ids(), "decoder_input_ids": _ids(2, 4)}, _PAIR)


def _words(model: Any) -> Made:
    return Made(model, {"input_ids": _ids()}, {"input_ids": {0: B}})


def _cache(heads: int, past: int) -> Any:
    cache = hub.DynamicCache()
    for layer in range(2):
        cache.update(torch.randn(2, heads, past, 8), torch.randn(2, heads, past, 8), layer)
    return cache


def _next_target(model: Any) -> Made:
    """One further word beside the caches of the decoder: of itself, and of the encoder."""
    # Of each cache keys, then values.
    axes = [[[{0: B, 2: n}] * 2] * 2 for n in ("past", "source")]
    return Made(
        model,
        {
            "encoder_outputs": (torch.randn(2, 7, 32),),
            "decoder_input_ids": _ids(2, 1),
            "past_key_values": hub.EncoderDecoderCache(_cache(4, 5), _cache(4, 7)),
        },
        {
            "encoder_outputs": ({0: B, 1: "source"},),
            "decoder_input_ids": {0: B},
            "past_key_values": axes,
        },
    )


_TWO_LAYERS = {**_BOTH, **_ENDS, "encoder_layers": 2, "decoder_layers": 2}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100}
_GPT2 = {"n_embd": 32, "n_head": 4, "vocab_size": 100, "n_positions": 64}
_WAVES = {
    **_SMALL, "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3),
    "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "vocab_size": 30,
}  # fmt: skip
_MAMBA = {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 100, "state_size": 4}
_LEARNED = _WORDS | {"use_cache": False}

# What a network is for -> its inputs, and its name -> its class, its configuration's, and options.
_Row = tuple[str, str, dict[str, Any]]
_TABLES: dict[str, tuple[Callable[[Any], Made], dict[str, _Row]]] = {
    "text encoder": (_text, {
        "bert": ("BertModel", "BertConfig", _SMALL | _WORDS),
        "roberta": ("RobertaForMaskedLM", "RobertaConfig", _SMALL | _WORDS),
        "distilbert": ("DistilBertForSequenceClassification", "DistilBertConfig", _WORDS
                       | {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
        "albert": ("AlbertModel", "AlbertConfig", _SMALL | _WORDS | {"embedding_size": 16}),
        "deberta": ("DebertaV2Model", "DebertaV2Config", _SMALL | _WORDS
                    | {"relative_attention": True, "position_buckets": 8, "share_att_key": True,
                       "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm"}),
        "electra": ("ElectraModel", "ElectraConfig", _SMALL | _WORDS | {"embedding_size": 16}),
        "mpnet": ("MPNetModel", "MPNetConfig", _SMALL | _WORDS),
        "modernbert": ("ModernBertModel", "ModernBertConfig",
                       _SMALL | _WORDS | {"local_attention": 4} | _ENDS_OF_TEXT),
    }),
    "decoder": (_text, {
        "llama": ("LlamaForCausalLM", "LlamaConfig", _GROUPED | _ONE_LAYER),
        "gpt2": ("GPT2LMHeadModel", "GPT2Config", _GPT2 | {"n_layer": 1, "use_cache": False}),
        "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", _GROUPED),
        "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", _GROUPED | {"sliding_window": 4}),
        "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", _GROUPED | {"sliding_window": 4}),
        "mistral": ("MistralForCausalLM", "MistralConfig", _GROUPED | {"sliding_window": 4}),
        "phi3": ("Phi3ForCausalLM", "Phi3Config", {k: v for k, v in _GROUPED.items()
                                                   if k != "head_dim"} | _ENDS_OF_TEXT),
        "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", _SMALL | _LEARNED),
        "opt": ("OPTForCausalLM", "OPTConfig", _LEARNED
                | {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "ffn_dim": 64, "word_embed_proj_dim": 32}),
        # Attention with linear biases (ALiBi).
        "bloom": ("BloomForCausalLM", "BloomConfig", {"hidden_size": 32, "n_layer": 2, "n_head": 4,
                                                      "vocab_size": 100, "use_cache": False}),
        # Rotary embeddings of complex numbers, experts, chunked attention.
        "llama4": ("Llama4ForCausalLM", "Llama4TextConfig", _GROUPED | _ENDS_OF_TEXT
                   | {"intermediate_size_mlp": 64, "num_local_experts": 2,
                      "num_experts_per_tok": 1, "attention_chunk_size": 4}),
    }),
    "encoder and decoder": (_pair, {
        "t5": ("T5ForConditionalGeneration", "T5Config", _T5 | {"use_cache": False}),
        "bart": ("BartForConditionalGeneration", "BartConfig",
                 _BOTH | {"max_position_embeddings": 64, "use_cache": False}),
        "marian": ("MarianMTModel", "MarianConfig",
                   _BOTH | _ENDS | {"max_position_embeddings": 64, "use_cache": False}),
    }),
    "vision": (_image, {
        "vit": ("ViTForImageClassification", "ViTConfig", _PICTURE),
        "swin": ("SwinModel", "SwinConfig", {"image_size": 32, "patch_size": 4, "embed_dim": 16,
                                             "depths": [1, 2], "num_heads": [2, 2],
                                             "window_size": 4}),
        "convnext": ("ConvNextModel", "ConvNextConfig", {"hidden_sizes": [8, 16, 16, 16],
                                                         "depths": [1] * 4, "image_size": 32}),
        # Position embeddings that are resized.
        "dinov2": ("Dinov2Model", "Dinov2Config", _PICTURE | {"image_size": 48, "mlp_ratio": 2}),
        "segformer": ("SegformerForSemanticSegmentation", "SegformerConfig",
                      {"hidden_sizes": [8, 16], "depths": [1, 1], "num_encoder_blocks": 2,
                       "num_attention_heads": [1, 2], "sr_ratios": [2, 1], "patch_sizes": [7, 3],
                       "strides": [4, 2], "mlp_ratios": [2, 2], "decoder_hidden_size": 16}),
        "mobilenet": ("MobileNetV2Model", "MobileNetV2Config", {"depth_multiplier": 0.25}),
        # Relative positions, and a mean over patches.
        "beit": ("BeitModel", "BeitConfig", _PICTURE | {"use_relative_position_bias": True}),
    }),
    "audio": (_sound, {
        "wav2vec2": ("Wav2Vec2ForCTC", "Wav2Vec2Config", _WAVES),
        "hubert": ("HubertModel", "HubertConfig", _WAVES),
    }),
    "state space": (_words, {
        "mamba": ("MambaForCausalLM", "MambaConfig", _MAMBA | _ONE_LAYER | {"use_cache": False}),
        "mamba2": ("Mamba2ForCausalLM", "Mamba2Config", _MAMBA
                   | {"num_heads": 4, "head_dim": 16, "n_groups": 2, "chunk_size": 4,
                      "use_cache": False}),
        # The states are results.
        "mamba_first_words": ("MambaForCausalLM", "MambaConfig", _MAMBA),
    }),
    "experts": (_text, {
        "mixtral": ("MixtralForCausalLM", "MixtralConfig",
                    _GROUPED | _ONE_LAYER | {"num_local_experts": 4}),
        "qwen3_moe": ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", _GROUPED
                      | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}),
        # Attention sinks, alternating windows, clamped experts.
        "gpt_oss": ("GptOssForCausalLM", "GptOssConfig", _GROUPED
                    | {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}),
    }),
    "decoder with cache": (_next_target, {
        "t5_cache": ("T5ForConditionalGeneration", "T5Config", _T5),
        "bart_cache": ("BartForConditionalGeneration", "BartConfig",
                       _TWO_LAYERS | {"max_position_embeddings": 64}),
    }),
}  # fmt: skip
_DEFAULT = ("bert", "llama", "t5", "vit", "wav2vec2", "mamba", "mixtral")


def _maker(inputs: Callable[[Any], Made], row: _Row) -> Callable[[], Made]:
    model, config, options = row
    return lambda: inputs(getattr(hub, model)(getattr(hub, config)(**options)))


NETWORKS += [
    Network(name, kind, _maker(inputs, row), slow=name not in _DEFAULT)
    for kind, (inputs, rows) in _TABLES.items()
    for name, row in rows.items()
]


# -- others ----------------------------------------------------------------------------------------


@_network("decoder with cache")
def llama_cache() -> Made:
    config = hub.LlamaConfig(**{**_GROUPED, "use_cache": True})
    return _next_word(hub.LlamaForCausalLM(config), 2)


@_network("decoder with cache", slow=True)
def gpt2_cache() -> Made:
    return _next_word(hub.GPT2LMHeadModel(hub.GPT2Config(**_GPT2, n_layer=2)), 4)


class _Static(torch.nn.Module):
    """A decoder whose cache is buffers of a fixed length, written in place."""

    def __init__(self) -> None:
        super().__init__()
        config = hub.LlamaConfig(**{**_GROUPED, "use_cache": True})
        self.inner = hub.LlamaForCausalLM(config).eval()
        self.cache = hub.StaticCache(config=config, max_cache_len=12)
        self.cache.early_initialization(2, 2, 8, torch.float32, "cpu")
        for n, layer in enumerate(self.cache.layers):
            self.register_buffer(f"keys_{n}", layer.keys)
            self.register_buffer(f"values_{n}", layer.values)

    def forward(self, input_ids: Any, cache_position: Any) -> Any:
        for n, layer in enumerate(self.cache.layers):
            layer.keys, layer.values = getattr(self, f"keys_{n}"), getattr(self, f"values_{n}")
        return self.inner(
            input_ids=input_ids,
            position_ids=cache_position[None],
            cache_position=cache_position,
            past_key_values=self.cache,
            use_cache=True,
        ).logits


@_network("decoder with cache")
def llama_static_cache() -> Made:
    return Made(_Static(), {"input_ids": _ids(2, 1), "cache_position": torch.tensor([0])}, None)


@_network("decoder with cache", slow=True)
def whisper_first_words() -> Made:
    """The caches are results."""
    config = hub.WhisperConfig(
        **_TWO_LAYERS, max_source_positions=50, max_target_positions=20, num_mel_bins=8
    )
    kwargs = {"input_features": torch.randn(2, 8, 100), "decoder_input_ids": _ids(2, 4)}
    dynamic = {"input_features": {0: B}, "decoder_input_ids": {0: B, 1: T}}
    return Made(hub.WhisperForConditionalGeneration(config), kwargs, dynamic)


@_network("decoder with cache", slow=True)
def llama_static_cache_given() -> Made:
    """A cache of a fixed length as an input; what is written to it becomes further outputs."""
    config = hub.LlamaConfig(**{**_GROUPED, "use_cache": True})
    cache = hub.StaticCache(config=config, max_cache_len=12)
    cache.early_initialization(2, 2, 8, torch.float32, "cpu")
    kwargs = {"input_ids": _ids(2, 1), "position_ids": torch.tensor([[0]])}
    return Made(hub.LlamaForCausalLM(config), {**kwargs, "past_key_values": cache}, None)


@_network("vision", slow=True)
def resnet() -> Made:
    config = hub.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"
    )
    made = _image(hub.ResNetForImageClassification(config))
    return Made(made.model, made.kwargs, {"pixel_values": {0: B, 2: "height", 3: "width"}})


@_network("audio")
def whisper() -> Made:
    config = hub.WhisperConfig(
        **_BOTH,
        **_ENDS,
        max_source_positions=50,
        max_target_positions=20,
        num_mel_bins=8,
        use_cache=False,
    )
    kwargs = {"input_features": torch.randn(2, 8, 100), "decoder_input_ids": _ids(2, 4)}
    dynamic = {"input_features": {0: B}, "decoder_input_ids": {0: B, 1: T}}
    return Made(hub.WhisperModel(config), kwargs, dynamic)


@_network("audio", slow=True)
def spectrogram() -> Made:
    """The audio spectrogram transformer."""
    config = hub.ASTConfig(**_SMALL, patch_size=4, max_length=16, num_mel_bins=8)
    return Made(
        hub.ASTModel(config), {"input_values": torch.randn(2, 16, 8)}, {"input_values": {0: B}}
    )


@_network("state space", slow=True)
def mamba_next_word() -> Made:
    """The states are inputs; what is written to them becomes further outputs."""
    model = hub.MambaForCausalLM(hub.MambaConfig(**_MAMBA)).eval()
    with torch.no_grad():
        states = model(input_ids=_ids(), use_cache=True).cache_params
    kwargs = {"input_ids": _ids(2, 1), "cache_params": states, "use_cache": True}
    axes = {"conv_states.0": {0: B}, "recurrent_states.0": {0: B}}
    return Made(model, kwargs, {"input_ids": {0: B}, "cache_params": [axes] * 2})


@_network("multimodal")
def clip() -> Made:
    config = hub.CLIPConfig(
        text_config={**_SMALL, **_ONE_LAYER, **_WORDS},
        vision_config={**_PICTURE, **_ONE_LAYER},
        projection_dim=16,
    )
    text = _text(hub.CLIPModel(config))
    kwargs = {**text.kwargs, "pixel_values": torch.randn(2, 3, 32, 32)}
    return Made(text.model, kwargs, {**_TEXT, "pixel_values": {0: "pictures"}})


@_network("multimodal", slow=True)
def siglip() -> Made:
    config = hub.SiglipConfig(text_config={**_SMALL, **_WORDS}, vision_config=_PICTURE)
    kwargs = {"input_ids": _ids(2, 64), "pixel_values": torch.randn(2, 3, 32, 32)}
    dynamic = {"input_ids": {0: B}, "pixel_values": {0: "pictures"}}
    return Made(hub.SiglipModel(config), kwargs, dynamic)


@_network("multimodal", slow=True)
def llava() -> Made:
    """Features of a picture in the place of some words."""
    config = hub.LlavaConfig(
        vision_config=hub.CLIPVisionConfig(**_PICTURE),
        text_config=hub.LlamaConfig(**_GROUPED),
        image_token_index=99,
        image_seq_length=16,
    )
    ids = torch.cat([_ids(2, 2), torch.full((2, 16), 99), _ids(2, 4)], 1)
    kwargs = {
        "input_ids": ids,
        "pixel_values": torch.randn(2, 3, 32, 32),
        "attention_mask": torch.ones_like(ids),
    }
    return Made(hub.LlavaForConditionalGeneration(config), kwargs, None)
