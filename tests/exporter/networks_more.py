"""Further architectures: detection, depth, state spaces beside attention, time series."""

from __future__ import annotations

from typing import Any

import torch

from tests.exporter.networks import (
    _BOTH,
    _ENDS,
    _SMALL,
    B,
    Made,
    S,
    T,
    _ids,
    _image,
    _network,
    _text,
    hub,
)

_STAGES = {"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16], "depths": [1] * 4}
_QUERIES = {
    "num_queries": 6,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
}
_MIXED = {
    **_SMALL,
    "vocab_size": 120,
    "num_key_value_heads": 2,
    "mamba_d_state": 4,
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 4,
    "use_cache": False,
}


def _backbone() -> hub.ResNetConfig:
    return hub.ResNetConfig(**_STAGES, layer_type="basic", out_features=["stage4"])


@_network("vision", slow=True)
def detr() -> Made:
    config = hub.DetrConfig(**_QUERIES, d_model=32, backbone_config=_backbone())
    return _image(hub.DetrForObjectDetection(config))


@_network("vision", slow=True)
def dab_detr() -> Made:
    """Positions computed in place, by an overload of another name."""
    config = hub.DabDetrConfig(**_QUERIES, hidden_size=32, backbone_config=_backbone())
    return _image(hub.DabDetrForObjectDetection(config))


@_network("vision", slow=True)
def dpt() -> Made:
    config = hub.DPTConfig(
        **{**_SMALL, "num_hidden_layers": 4},
        image_size=32,
        patch_size=8,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=8,
    )
    return _image(hub.DPTForDepthEstimation(config))


@_network("state space", slow=True, grows=True)
def bamba() -> Made:
    """Layers of Mamba and of attention by turns."""
    config = hub.BambaConfig(**_MIXED, attn_layer_indices=[1])
    return _text(hub.BambaForCausalLM(config))


@_network("time series")
def patchtst() -> Made:
    config = hub.PatchTSTConfig(
        num_input_channels=2,
        context_length=16,
        patch_length=4,
        patch_stride=4,
        d_model=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=32,
        prediction_length=4,
    )
    kwargs = {"past_values": torch.randn(2, 16, 2)}
    return Made(hub.PatchTSTForPrediction(config), kwargs, {"past_values": {0: B}})


_FORECAST = {
    "prediction_length": 4, "context_length": 16, "lags_sequence": [1, 2, 3],
    "num_time_features": 2, "num_static_categorical_features": 1, "cardinality": [3],
    "embedding_dimension": [2], "num_static_real_features": 1, "encoder_layers": 2,
    "decoder_layers": 1, "d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
}  # fmt: skip


def _forecast(model: Any) -> Made:
    """A series of 16 times and three before them, and the next 4 times."""
    kwargs = {
        "past_values": torch.randn(2, 19),
        "past_time_features": torch.randn(2, 19, 2),
        "past_observed_mask": torch.ones(2, 19),
        "static_categorical_features": torch.randint(0, 3, (2, 1)),
        "static_real_features": torch.randn(2, 1),
        "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 2),
    }
    return Made(model, kwargs, {name: {0: B} for name in kwargs})


@_network("time series", slow=True)
def informer() -> Made:
    """Layers that halve the length, so that no mask fits all; all keys are drawn."""
    config = hub.InformerConfig(**_FORECAST, attention_type="prob", sampling_factor=50)
    return _forecast(hub.InformerModel(config))


@_network("time series", slow=True)
def autoformer() -> Made:
    """Correlations by Fourier transforms, whose last axis is that of the channels."""
    config = hub.AutoformerConfig(**_FORECAST, label_length=4, moving_average=5)
    return _forecast(hub.AutoformerForPrediction(config))


# -- networks that decide by values: captured by source --------------------------------------------


def _translation(model: Any, length: int = 6) -> Made:
    """A network that reads words, some of them masked, and writes others."""
    made = _text(model)
    if length != 6:
        ids = _ids(2, length)
        mask = torch.ones_like(ids)
        mask[1, -2:] = 0
        made.kwargs.update(input_ids=ids, attention_mask=mask)
    made.kwargs["decoder_input_ids"] = _ids(2, 4)
    axes = {"input_ids": {0: B, 1: S}, "attention_mask": {0: B, 1: S}}
    return Made(model, made.kwargs, {**axes, "decoder_input_ids": {0: B, 1: T}})


@_network("experts", slow=True, always=("for expert_idx in expert_hit:",))
def switch_transformers() -> Made:
    """Experts by the name that their number has in a text; each word has one of them."""
    ends = {name: number for name, number in _ENDS.items() if name != "bos_token_id"}
    config = hub.SwitchTransformersConfig(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2,
        num_heads=4, num_experts=4, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1,
        **ends,
    )  # fmt: skip
    return _translation(hub.SwitchTransformersModel(config))


@_network("experts", slow=True, grows=True, always=("for expert_idx in expert_hit:",))
def nllb_moe() -> Made:
    config = hub.NllbMoeConfig(
        **_BOTH, **_ENDS, num_experts=4, expert_capacity=8, encoder_sparse_step=1,
        decoder_sparse_step=1, max_position_embeddings=64,
    )  # fmt: skip
    return _translation(hub.NllbMoeModel(config))


_CODEC = {"sampling_rate": 1600, "hidden_size": 16, "num_filters": 4, "upsampling_ratios": [4, 2]}


@_network("audio", slow=True)
def encodec() -> Made:
    """Padding by numbers that are buffers."""
    config = hub.EncodecConfig(
        **_CODEC, codebook_size=16, codebook_dim=16, num_lstm_layers=1,
        target_bandwidths=[1.5, 3.0],
    )  # fmt: skip
    return Made(
        hub.EncodecModel(config), {"input_values": torch.randn(2, 1, 64)}, {"input_values": {0: B}}
    )


@_network("audio", slow=True)
def mimi() -> Made:
    config = hub.MimiConfig(
        **_CODEC, frame_rate=None, codebook_size=16, codebook_dim=8, num_quantizers=4,
        vector_quantization_hidden_dimension=8, num_semantic_quantizers=1, num_hidden_layers=1,
        intermediate_size=32, num_attention_heads=2, num_key_value_heads=2, head_dim=8,
        upsample_groups=16,
    )  # fmt: skip
    return Made(
        hub.MimiModel(config), {"input_values": torch.randn(2, 1, 64)}, {"input_values": {0: B}}
    )
