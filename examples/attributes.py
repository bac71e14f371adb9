"""Attribute parameters: defaults, choices by a string, forwarding, and values given when saving."""

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def scaled(x, alpha: float = 2.0, axes: list[int] = [0]):  # noqa: B006
    """An attribute is a number where a tensor is needed, and forwarded where an attribute is."""
    return alpha * x - op.ReduceSum(x * (alpha / 2), axes)


@script()
def activate(x, kind: str = "relu", slope: float = 0.1):
    """A choice by an attribute folds away when its value is known."""
    if kind == "relu":
        return op.Relu(x)
    if kind == "leaky":
        return op.LeakyRelu(x, alpha=slope)
    return op.Identity(x)


@script()
def model_with_default(x: FLOAT["N"], alpha: float = 3.0) -> FLOAT["N"]:
    return scaled(activate(x, kind="leaky", slope=0.25), alpha=alpha)


x = np.array([-4, -2, 0, 2, 6], np.float32)

print("eager, default:", model_with_default(x))
print("eager, alpha=1:", model_with_default(x, alpha=1.0))

for attributes in ({}, {"alpha": 1.0}):
    model = model_with_default.to_model_proto(attributes=attributes)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (compiled,) = session.run(None, {"x": x})
    np.testing.assert_allclose(model_with_default(x, **attributes), compiled, rtol=1e-6)
    print("model", attributes, "=", compiled)

function = scaled.to_function_proto()
print("inputs:", list(function.input))
print("attributes with defaults:", sorted(a.name for a in function.attribute_proto))
