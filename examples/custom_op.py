"""Run operators of your own domain in eager mode: a Python function, or a function of ONNX ops."""

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, INT64, Opset, script
from onnxwright import opset18 as op

acme = Opset("com.acme", 1)


# A kernel in Python: arrays come in, attributes by keyword, an array goes out.
@ow.implement("com.acme", "Bucketize")
def bucketize(x, boundaries, right=0):
    return np.searchsorted(boundaries, x, side="right" if right else "left").astype(np.int64)


@script()
def histogram(x: FLOAT["N"]) -> INT64[3]:
    """How many numbers fall below 0.5, between, and above 1.5."""
    buckets = acme.Bucketize(x, boundaries=[0.5, 1.5])
    return op.ReduceSum(op.OneHot(buckets, 3, [0, 1], axis=0), [1], keepdims=0)


x = np.array([0.1, 0.7, 0.9, 2.0], np.float32)
print("counts:", histogram(x))

# The same operator alone, and traced line by line.
print("buckets:", acme.Bucketize(x, boundaries=[0.5, 1.5]))
print(ow.trace(histogram, x)["buckets"].facts)


# A definition in ONNX operators: any FunctionProto, here one that is written as a script.
@script(acme, default_opset=op)
def Swish(x, beta: float = 1.0):
    """Smooth gating: x times the sigmoid of beta times x."""
    return x * op.Sigmoid(x * beta)


ow.implement_function(Swish.to_function_proto())


@script()
def gated(x: FLOAT["N"]) -> FLOAT["N"]:
    return acme.Swish(x, beta=2.0) + x


np.testing.assert_allclose(gated(x), x / (1 + np.exp(-2 * x)) + x, rtol=1e-6)
print("gated:", gated(x).round(3))

# The model keeps the custom node, for a runtime that has a kernel; `debug` runs it here.
model = histogram.to_model_proto()
print("nodes:", [node.op_type for node in model.graph.node if node.domain == "com.acme"])
print("debug:", ow.debug(model, [x]).outputs)
