"""A small Llama with random weights, exported as a folder and run with onnxruntime-genai."""

import logging
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch
import transformers

import onnxwright as ow

logging.disable(logging.WARNING)  # packages that transformers loads log to stderr
torch.manual_seed(0)
config = transformers.LlamaConfig(
    vocab_size=100, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2,
)  # fmt: skip
model = transformers.LlamaForCausalLM(config).eval()
folder = Path(tempfile.mkdtemp()) / "llama"
print(ow.export_decoder(model, folder))

if find_spec("onnxruntime_genai") is None:
    print("pip install onnxruntime-genai, to run the folder")
else:
    import onnxruntime_genai as genai

    loaded = genai.Model(str(folder))
    params = genai.GeneratorParams(loaded)
    prompt = [7, 11, 13, 17]
    params.set_search_options(max_length=len(prompt) + 8, do_sample=False)
    generator = genai.Generator(loaded, params)
    generator.append_tokens(prompt)
    while not generator.is_done():
        generator.generate_next_token()
    print([int(token) for token in generator.get_sequence(0)])
