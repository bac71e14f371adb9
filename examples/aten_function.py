"""PyTorch's operators as ONNX, without PyTorch: on arrays, in a graph, and one of one's own."""

import numpy as np
import onnx
import onnxruntime

import onnxwright as ow
from onnxwright import FLOAT
from onnxwright.atenlib import Op, Value

# The library: a function for each ATen operator, found by its full name.
table = ow.atenlib.functions()
clamp = ow.atenlib.find("aten::clamp")
print("clamp:", clamp)

# On arrays, operator by operator; type promotion is PyTorch's.
add = ow.atenlib.find("aten::add.Tensor")
total = add.run(np.array([1, 2, 3]), np.array([0.5], np.float32), alpha=2)
print("add:", total, total.dtype)

# In a graph, among other operators.
g = ow.GraphBuilder(opset=23)
x = g.input("x", FLOAT["N", 8])
scores = ow.atenlib.find("aten::softmax.int")(g.op, x, -1)
g.output(clamp(g.op, scores, max=0.5), "y")
model = g.to_model_proto()
onnx.checker.check_model(model, full_check=True)
print("nodes:", [node.op_type for node in model.graph.node])

# As a function of a model, for given types.
proto = clamp.to_function_proto("FLOAT[N, 8]", 0.0, 0.5)
print("function:", proto.domain, proto.name, [node.op_type for node in proto.node])

# A function of one's own: the body is ONNX, the rule is PyTorch's promotion.
mine: dict[str, ow.atenlib.AtenFunction] = {}


@ow.aten("my::hypot", rule=ow.atenlib.elementwise(("self", "other"), "int_to_float"), table=mine)
def hypot(op: Op, self: Value, other: Value) -> Value:
    """The length of the hypotenuse."""
    return op.Sqrt(op.Add(op.Mul(self, self), op.Mul(other, other)))


print("hypot:", hypot.run(np.array([3, 5]), np.array([4, 12])))
print("a number is promoted:", hypot.run(3, np.array([4], np.float32)))

# What the graph computes is what the functions compute.
data = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32)
session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
(compiled,) = session.run(None, {"x": data})
softmax = table["aten::softmax.int"]
np.testing.assert_allclose(compiled, clamp.run(softmax.run(data, -1), max=0.5), rtol=1e-6)
print("eager and graph agree")
