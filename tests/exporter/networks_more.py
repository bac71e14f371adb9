"""Further architectures: detection, depth, state spaces beside attention, time series."""

from __future__ import annotations

import torch

from tests.exporter.networks import (
    _SMALL,
    B,
    Made,
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


@_network("state space", slow=True)
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
