"""A model with weights in four bits, one with a method of rounding of one's own, one in float16."""

import numpy as np
import onnx
from onnx import numpy_helper

import onnxwright as ow

rng = np.random.default_rng(0)
model = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 18]>
    network (int64[batch] ids) => (float[batch,200] logits) {
        rows = Gather(table, ids)
        hidden = MatMul(rows, up)
        active = Sigmoid(hidden)
        down_rows = MatMul(active, down)
        turned = Transpose<perm=[1, 0]>(table)
        logits = MatMul(down_rows, turned)
    }"""
)
for name, shape in {"table": (200, 64), "up": (64, 256), "down": (256, 64)}.items():
    weight = rng.standard_normal(shape).astype(np.float32) / 8
    model.graph.initializer.append(numpy_helper.from_array(weight, name))


def searched(weight):
    """The best of a few scales for each block of 32, by the squared error."""
    blocks = weight.reshape(-1, 32, weight.shape[1])
    high, low = blocks.max(axis=1), blocks.min(axis=1)
    farthest = np.where(-low >= high, low, high)
    tries = []
    for part in (1.0, 0.8, 0.85, 0.9, 0.95, 1.05):
        scale = part * farthest / -8
        integers = np.clip(np.rint(blocks / scale[:, None]), -8, 7)
        tries.append((((integers * scale[:, None] - blocks) ** 2).sum(axis=1), integers, scale))
    best = np.argmin([error for error, _, _ in tries], axis=0)
    integers = np.choose(best[:, None], [i for _, i, _ in tries])
    scale = np.choose(best, [s for _, _, s in tries])
    return integers.astype(np.int8).reshape(weight.shape), scale.astype(np.float32), None


ids = np.arange(8)
exact = ow.run_model(model, [ids])[0]
small, report = ow.quantize_weights(model, 4, embeddings=True, report=True)
print(report)
searched_model, searched_report = ow.quantize_weights(
    model, 4, embeddings=True, method=searched, report=True
)
for nearest, other in zip(report.weights, searched_report.weights, strict=True):
    assert other.error < nearest.error
half = ow.to_half(model)
for name, made in {"four bits": small, "searched": searched_model, "float16": half}.items():
    found = ow.run_model(made, [ids])[0]
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    print(f"{name}: {made.ByteSize() / model.ByteSize():.2f} of the bytes, error {error:.4f}")
    assert error < 0.3
