"""A deep network from a list of weights: a Python loop over layers is unrolled."""

import itertools
from typing import Any

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


def make_network(weights: list[np.ndarray], biases: list[np.ndarray]) -> Any:
    """A function of one input; the weights are constants of the model."""
    depth = len(weights)

    @script()
    def network(x: FLOAT["N", 4]) -> FLOAT["N", "K"]:
        for weight, bias in zip(weights[: depth - 1], biases[: depth - 1]):
            x = op.Relu(op.MatMul(x, weight) + bias)
        return op.MatMul(x, weights[-1]) + biases[-1]

    return network


rng = np.random.default_rng(0)
sizes = [4, 16, 16, 8, 3]
weights = [rng.normal(size=(m, n)).astype(np.float32) for m, n in itertools.pairwise(sizes)]
biases = [rng.normal(size=n).astype(np.float32) for n in sizes[1:]]
x = rng.normal(size=(5, 4)).astype(np.float32)

network = make_network(weights, biases)
model = network.to_model_proto()
onnx.checker.check_model(model, full_check=True)
session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
(compiled,) = session.run(None, {"x": x})
np.testing.assert_allclose(network(x), compiled, rtol=1e-5)

kinds = [node.op_type for node in model.graph.node]
print("layers:", kinds.count("MatMul"), "of sizes", sizes)
print("output:", compiled.shape)
