"""A small Llama with random weights, exported as a folder and run with plain ONNX Runtime."""

import json
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import transformers

import onnxwright as ow

torch.manual_seed(0)
config = transformers.LlamaConfig(
    vocab_size=100, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2,
)  # fmt: skip
model = transformers.LlamaForCausalLM(config).eval()
folder = Path(tempfile.mkdtemp()) / "llama"
report = ow.export_decoder(model, folder)
print(report)
assert report.tokens_equal

decoder = json.loads((folder / "genai_config.json").read_text())["model"]["decoder"]
session = onnxruntime.InferenceSession(str(folder / decoder["filename"]))
heads, size = decoder["num_key_value_heads"], decoder["head_size"]

# Two prompts; the shorter one is padded on the left.
ids = np.array([[0, 5, 9], [7, 11, 13]])
mask = np.array([[0, 1, 1], [1, 1, 1]])
past = {
    f"past_key_values.{n}.{part}": np.zeros((len(ids), heads, 0, size), np.float32)
    for n in range(decoder["num_hidden_layers"])
    for part in ("key", "value")
}
for _ in range(8):
    places = np.maximum(mask.cumsum(1) - 1, 0)[:, -ids.shape[1] :]
    names = ["logits", *(name.replace("past_key_values", "present") for name in past)]
    feeds = {"input_ids": ids, "attention_mask": mask, "position_ids": places, **past}
    logits, *present = session.run(names, feeds)
    past = dict(zip(past, present, strict=True))
    ids = logits[:, -1].argmax(-1)[:, None]
    mask = np.concatenate([mask, np.ones_like(ids)], 1)
    print(ids[:, 0].tolist())
