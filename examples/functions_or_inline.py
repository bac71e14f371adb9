"""Called functions stay functions in the model, or are inlined: all, none or some of them."""

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def normalize(x):
    centred = x - op.ReduceMean(x, keepdims=1)
    return centred / op.Sqrt(op.ReduceMean(centred * centred, keepdims=1) + 1e-5)


@script()
def feed_forward(x, w):
    return op.Relu(op.MatMul(normalize(x), w))


@script()
def network(x: FLOAT["N", 4], w: FLOAT[4, 4]) -> FLOAT["N", 4]:
    return x + feed_forward(feed_forward(x, w), w)


rng = np.random.default_rng(0)
x = rng.normal(size=(3, 4)).astype(np.float32)
w = rng.normal(size=(4, 4)).astype(np.float32)
eager = network(x, w)

for what, options in (
    ("all functions", {}),
    ("everything inlined", {"functions": []}),
    ("normalize kept", {"functions": [normalize]}),
):
    model = network.to_model_proto(**options)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (compiled,) = session.run(None, {"x": x, "w": w})
    np.testing.assert_allclose(eager, compiled, rtol=1e-5, atol=1e-6)
    names = [function.name for function in model.functions]
    print(f"{what}: {len(model.graph.node)} nodes in the graph, functions {names}")
