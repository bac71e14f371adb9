import torch
from transformers import DynamicCache, MistralConfig, MistralForCausalLM

import onnxwright as ow

config = MistralConfig(
    vocab_size=8,
    hidden_size=8,
    intermediate_size=8,
    num_hidden_layers=1,
    num_attention_heads=1,
    num_key_value_heads=1,
    sliding_window=8,
)
model = MistralForCausalLM(config).eval()
cache = DynamicCache([(torch.ones(1, 1, 4, 8),) * 2], config=config)
ow.export(model, (torch.ones(1, 1).long(),), {"past_key_values": cache})
