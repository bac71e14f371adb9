"""A small T5 with random weights, exported as encoder and decoder and run with ONNX Runtime."""

import json
import logging
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import transformers

import onnxwright as ow

logging.disable(logging.WARNING)  # packages that transformers loads log to stderr
torch.manual_seed(0)
config = transformers.T5Config(
    vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4,
    decoder_start_token_id=0,
)  # fmt: skip
folder = Path(tempfile.mkdtemp()) / "t5"
report = ow.export_decoder(transformers.T5ForConditionalGeneration(config).eval(), folder)
print(report)
assert report.tokens_equal

parts = json.loads((folder / "decoder_config.json").read_text())["model"]
encoder, decoder = (
    onnxruntime.InferenceSession(str(folder / parts[name]["filename"]))
    for name in ("encoder", "decoder")
)

# Two texts; the shorter one is padded at the end.
ids = np.array([[5, 9, 0], [7, 11, 13]])
mask = np.array([[1, 1, 0], [1, 1, 1]])
names = [value.name for value in encoder.get_outputs()]
values = encoder.run(None, {"input_ids": ids, "attention_mask": mask})
encoded = dict(zip(names, values, strict=True))
heads, size = parts["decoder"]["num_key_value_heads"], parts["decoder"]["head_size"]
feeds = {"encoder_attention_mask": mask}
for n in range(parts["decoder"]["num_hidden_layers"]):
    for part in ("key", "value"):
        feeds[f"past_key_values.{n}.encoder.{part}"] = encoded[f"present.{n}.encoder.{part}"]
        empty = np.zeros((len(ids), heads, 0, size), np.float32)
        feeds[f"past_key_values.{n}.decoder.{part}"] = empty
tokens = np.full((len(ids), 1), parts["decoder_start_token_id"])
outputs = [value.name for value in decoder.get_outputs()]
for _ in range(8):
    values = decoder.run(None, {"input_ids": tokens, **feeds})
    results = dict(zip(outputs, values, strict=True))
    tokens = results.pop("logits")[:, -1].argmax(-1)[:, None]
    feeds |= {name.replace("present", "past_key_values"): x for name, x in results.items()}
    print(tokens[:, 0].tolist())
