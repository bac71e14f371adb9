"""Small causal language models of transformers with random weights, by architecture."""

from __future__ import annotations

from typing import Any

import torch
import transformers as hub

_SMALL: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_EQUAL_HEADS = {n: v for n, v in _SMALL.items() if n != "num_key_value_heads"}
_PAIRS = {"head_dim": 16}
_OLD = {"vocab_size": 100, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
# Layers that read a window of fewer tokens than the tests generate.
_WINDOW = {"sliding_window": 4}

_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}

# The model -> its configuration and what it is given.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "LlamaForCausalLM": ("LlamaConfig", _SMALL),
    "Qwen2ForCausalLM": ("Qwen2Config", _SMALL),
    "Qwen3ForCausalLM": ("Qwen3Config", _SMALL | _PAIRS),
    "MistralForCausalLM": ("MistralConfig", _SMALL | _WINDOW),
    "PhiForCausalLM": ("PhiConfig", _SMALL),
    "Phi3ForCausalLM": ("Phi3Config", _SMALL),
    "GemmaForCausalLM": ("GemmaConfig", _SMALL | _PAIRS),
    "Gemma2ForCausalLM": ("Gemma2Config", _SMALL | _PAIRS | _WINDOW),
    "Gemma3ForCausalLM": ("Gemma3TextConfig", _SMALL | _PAIRS | _WINDOW),
    "GPT2LMHeadModel": ("GPT2Config", _OLD | {"n_embd": 64, "n_layer": 2, "n_head": 4}),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", _EQUAL_HEADS),
    "GPTJForCausalLM": (
        "GPTJConfig",
        _OLD | {"n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8, "n_positions": 128},
    ),
    "Olmo2ForCausalLM": ("Olmo2Config", _SMALL),
    "SmolLM3ForCausalLM": ("SmolLM3Config", _SMALL),
    "GraniteForCausalLM": ("GraniteConfig", _SMALL),
    "StableLmForCausalLM": ("StableLmConfig", _SMALL),
    "CohereForCausalLM": ("CohereConfig", _SMALL),
    "MixtralForCausalLM": ("MixtralConfig", _SMALL | _EXPERTS),
    "Qwen3MoeForCausalLM": (
        "Qwen3MoeConfig",
        _SMALL | _PAIRS | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    ),
    "GptOssForCausalLM": ("GptOssConfig", _SMALL | _PAIRS | _EXPERTS | _WINDOW),
    "FalconForCausalLM": ("FalconConfig", _EQUAL_HEADS),
    "BloomForCausalLM": ("BloomConfig", _OLD | {"hidden_size": 64, "n_layer": 2, "n_head": 4}),
    "OPTForCausalLM": (
        "OPTConfig",
        _EQUAL_HEADS | {"ffn_dim": 96, "word_embed_proj_dim": 64},
    ),
    "Starcoder2ForCausalLM": ("Starcoder2Config", _SMALL),
    "MptForCausalLM": ("MptConfig", _OLD | {"d_model": 64, "n_layers": 2, "n_heads": 4}),
}


def decoder(name: str, **options: Any) -> Any:
    """A model with random weights that are so large that no two tokens are about as likely.

    Args:
        name: the class.
        options: more of its configuration.
    """
    return _made(name, MODELS | STATES, options)


def _made(name: str, table: dict[str, tuple[str, dict[str, Any]]], options: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    kind, given = table[name]
    # With tied weights, the most likely token after each one is the same one.
    given = given | {"tie_word_embeddings": False} | options
    model = getattr(hub, name)(getattr(hub, kind)(**given))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(std=0.2)
    return model.eval()


_LAYERS: dict[str, Any] = {
    "vocab_size": 100,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 96,
    "decoder_ffn_dim": 96,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
_SOUND = {n: v for n, v in _LAYERS.items() if n != "max_position_embeddings"}
_SOUND |= {"max_source_positions": 30, "max_target_positions": 64}
_T5: dict[str, Any] = {
    "vocab_size": 100,
    "d_model": 64,
    "d_kv": 16,
    "d_ff": 96,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}

_PROPHET: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 64,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4,
    "encoder_ffn_dim": 96,
    "decoder_ffn_dim": 96,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 1,
}
_MOONSHINE: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "encoder_num_hidden_layers": 2,
    "decoder_num_hidden_layers": 2,
    "encoder_num_attention_heads": 4,
    "decoder_num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}

# Models with an encoder and a decoder.
PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "T5ForConditionalGeneration": ("T5Config", _T5),
    "MT5ForConditionalGeneration": ("MT5Config", _T5),
    "UMT5ForConditionalGeneration": ("UMT5Config", _T5),
    "LongT5ForConditionalGeneration": ("LongT5Config", _T5 | {"local_radius": 4}),
    "BartForConditionalGeneration": ("BartConfig", _LAYERS),
    "MBartForConditionalGeneration": ("MBartConfig", _LAYERS),
    "PLBartForConditionalGeneration": ("PLBartConfig", _LAYERS),
    "PegasusForConditionalGeneration": ("PegasusConfig", _LAYERS),
    "BigBirdPegasusForConditionalGeneration": (
        "BigBirdPegasusConfig",
        _LAYERS | {"attention_type": "original_full"},
    ),
    "MarianMTModel": ("MarianConfig", _LAYERS),
    "FSMTForConditionalGeneration": (
        "FSMTConfig",
        _LAYERS | {"langs": ["en", "de"], "src_vocab_size": 100, "tgt_vocab_size": 100},
    ),
    "M2M100ForConditionalGeneration": ("M2M100Config", _LAYERS),
    "BlenderbotForConditionalGeneration": ("BlenderbotConfig", _LAYERS),
    "BlenderbotSmallForConditionalGeneration": ("BlenderbotSmallConfig", _LAYERS),
    "WhisperForConditionalGeneration": ("WhisperConfig", _SOUND | {"num_mel_bins": 8}),
    "Speech2TextForConditionalGeneration": (
        "Speech2TextConfig",
        _SOUND | {"input_feat_per_channel": 8, "conv_channels": 16, "max_source_positions": 60},
    ),
}

# Those that are refused, or whose parts alone are tested.
OTHER_PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "MoonshineForConditionalGeneration": ("MoonshineConfig", _MOONSHINE),
    "ProphetNetForConditionalGeneration": ("ProphetNetConfig", _PROPHET),
}


def pair(name: str, **options: Any) -> Any:
    """A model with an encoder and a decoder, with random weights as those of `decoder`.

    Args:
        name: the class.
        options: more of its configuration.
    """
    return _made(name, PAIRS | OTHER_PAIRS, options)


_STATE = {"vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 8}
_SSM = {
    "mamba_n_heads": 8,
    "mamba_d_head": 16,
    "mamba_n_groups": 1,
    "mamba_d_state": 8,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_chunk_size": 4,
}

# Models whose cache has states of convolutions and recurrences.
STATES: dict[str, tuple[str, dict[str, Any]]] = {
    "MambaForCausalLM": ("MambaConfig", _STATE),
    "FalconMambaForCausalLM": ("FalconMambaConfig", _STATE),
    "Mamba2ForCausalLM": (
        "Mamba2Config",
        _STATE | {"num_heads": 8, "head_dim": 16, "n_groups": 2, "chunk_size": 4},
    ),
    "JambaForCausalLM": (
        "JambaConfig",
        _SMALL
        | {"use_mamba_kernels": False, "attn_layer_period": 2, "attn_layer_offset": 1}
        | {"expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 2}
        | {"mamba_d_state": 8},
    ),
    "BambaForCausalLM": ("BambaConfig", _SMALL | _SSM | {"attn_layer_indices": [1]}),
    "Zamba2ForCausalLM": (
        "Zamba2Config",
        _EQUAL_HEADS
        | {"mamba_d_state": 8, "mamba_headdim": 16, "n_mamba_heads": 8, "mamba_ngroups": 1}
        | {"chunk_size": 4, "layers_block_type": ["mamba", "hybrid"], "num_mem_blocks": 1}
        | {"use_mem_eff_path": False},
    ),
    "FalconH1ForCausalLM": ("FalconH1Config", _SMALL | _SSM | {"mamba_d_ssm": 128}),
    "GraniteMoeHybridForCausalLM": (
        "GraniteMoeHybridConfig",
        _SMALL
        | _SSM
        | {"layer_types": ["mamba", "attention"], "num_local_experts": 2}
        | {"num_experts_per_tok": 1, "shared_intermediate_size": 32},
    ),
    "Qwen3NextForCausalLM": (
        "Qwen3NextConfig",
        _SMALL
        | _PAIRS
        | {"layer_types": ["linear_attention", "full_attention"], "linear_num_value_heads": 4}
        | {"linear_num_key_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16}
        | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
        | {"shared_expert_intermediate_size": 32},
    ),
    "Lfm2ForCausalLM": ("Lfm2Config", _SMALL | {"layer_types": ["conv", "full_attention"]}),
    # Its cache is a class of its own, with a list of states beside the layers.
    "MiniMaxForCausalLM": (
        "MiniMaxConfig",
        _SMALL
        | _PAIRS
        | _EXPERTS
        | {"layer_types": ["full_attention", "linear_attention"], "block_size": 4},
    ),
}
