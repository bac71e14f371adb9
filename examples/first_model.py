"""Two functions become one checked model: eager run, compile, save, run in ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def hardmax(X, axis: int):
    """One where X is largest along the axis, zero everywhere else."""
    largest = op.ArgMax(X, axis=axis, keepdims=0)
    sizes = op.Shape(X, start=axis)
    depth = op.Reshape(op.GatherElements(sizes, [0]), [-1])
    off_on = op.CastLike([0, 1], X)
    return op.OneHot(largest, depth, off_on, axis=axis)


@script()
def sample_model(X: FLOAT[64, 128], Wt: FLOAT[128, 10], Bias: FLOAT[10]) -> FLOAT[64, 10]:
    """A linear layer that returns the winning class of each row."""
    scores = op.MatMul(X, Wt) + Bias
    return hardmax(scores, axis=1)


rng = np.random.default_rng(0)
inputs = {
    "X": rng.normal(size=(64, 128)).astype(np.float32),
    "Wt": rng.normal(size=(128, 10)).astype(np.float32),
    "Bias": rng.normal(size=10).astype(np.float32),
}

# Eager: the Python function runs line by line, on numpy arrays.
eager = sample_model(**inputs)
print("classes of the first rows:", eager.argmax(axis=1)[:8])

# Compiled: a standard ONNX model, in which `hardmax` is a separate function.
model = sample_model.to_model_proto()
onnx.checker.check_model(model, full_check=True)
print("nodes:", [node.op_type for node in model.graph.node])
print("functions:", [function.name for function in model.functions])

# Saved, and run by ONNX Runtime.
onnx.save(model, "sample_model.onnx")
session = onnxruntime.InferenceSession("sample_model.onnx", providers=["CPUExecutionProvider"])
(compiled,) = session.run(None, inputs)

np.testing.assert_array_equal(eager, compiled)
print("eager and ONNX Runtime agree:", eager.shape, eager.dtype)
