"""A model built by calls: names in shapes, a branch, a loop and a function, no script around it."""

import numpy as np
import onnx
import onnxruntime

import onnxwright as ow
from onnxwright import BOOL, FLOAT, INT64


@ow.script(ow.Opset("example.builder", 1))
def normalized(x: FLOAT, epsilon: float = 1e-5) -> FLOAT:
    """Rows of mean 0 and variance 1."""
    centered = x - ow.opset21.ReduceMean(x, [-1])
    variance = ow.opset21.ReduceMean(centered * centered, [-1])
    return centered / ow.opset21.Sqrt(variance + epsilon)


rng = np.random.default_rng(0)
g = ow.GraphBuilder(opset=21, doc_string="A small network, built by calls.")
op = g.op
x = g.input("x", FLOAT["N", 8])
steps = g.input("steps", INT64[()])
sharp = g.input("sharp", BOOL[()])

# Weights are initializers; `h` is what its shape says it is.
h = x
for layer, (rows, columns) in enumerate([(8, 16), (16, 8)]):
    weight = g.initializer(rng.normal(size=(rows, columns)).astype(np.float32), f"w{layer}")
    h = op.Relu(op.MatMul(h, weight, name=f"layer{layer}"))
print("hidden:", h.dtype, h.shape)

# A function of the model, a loop whose body is a lambda, a branch.
h = g.call(normalized, h)
h, history = op.Loop(steps, None, h, body=lambda _, go, s: (go, s * 0.5, op.ReduceMax(s)))
y = op.If(sharp, then_branch=lambda: op.Softmax(h * 10), else_branch=lambda: op.Softmax(h))

# Shapes are computed while the graph is built.
pairs = op.Reshape(y, op.Concat(op.Shape(y)[:1] * 4, [2], axis=0))
print("pairs:", pairs.shape)

g.output(pairs, "pairs")
g.output(history, "history")
model = g.to_model_proto()
onnx.checker.check_model(model, full_check=True)
print("nodes:", [node.op_type for node in model.graph.node])

session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
feeds = {
    "x": rng.normal(size=(3, 8)).astype(np.float32),
    "steps": np.array(2),
    "sharp": np.array(False),
}
found, maxima = session.run(None, feeds)
np.testing.assert_allclose(found.reshape(3, 8).sum(axis=1), 1, rtol=1e-5)
print("result:", found.shape, maxima.shape)
