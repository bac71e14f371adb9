"""Open a model, add to it, and use it twice in another one; run what is not finished."""

import numpy as np
import onnx

import onnxwright as ow
from onnxwright import FLOAT


@ow.script()
def encoder(x: FLOAT["N", 4]) -> FLOAT["N", 4]:
    return ow.opset21.Tanh(x * 0.5)


# Open: everything in the model stays as it is.
g = ow.GraphBuilder.from_model(encoder.to_model_proto())
(result,) = g.outputs
hidden = g.outputs[result]
with g.scope("head"):
    g.output(g.op.ReduceMean(hidden, axes=[1], keepdims=0), "score")
g.remove_output(result)
scored = g.to_model_proto()
onnx.checker.check_model(scored, full_check=True)
print("opened:", [node.op_type for node in scored.graph.node])

# Parts: one model, called twice.
pair = ow.GraphBuilder(opset=21)
left, right = pair.input("left", FLOAT["L", 4]), pair.input("right", FLOAT["R", 4])
with pair.scope("twins", "Twins"):
    a, b = pair.call(scored, left), pair.call(scored, right)
difference = pair.op.ReduceMean(a, keepdims=0) - pair.op.ReduceMean(b, keepdims=0)

# Unfinished, and run already.
ones = np.ones((2, 4), np.float32)
print("a part:", pair.run({"left": ones}, a).round(3))
np.testing.assert_allclose(pair.run({"left": ones, "right": ones[:1]}, difference), 0, atol=1e-6)
pair.output(difference, "difference")
print("parts:", [node.op_type for node in pair.to_model_proto().graph.node])
