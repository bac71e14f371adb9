"""A library of functions in a custom domain, and an operator that only a special runtime has."""

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, Opset, script
from onnxwright import opset18 as op

acme = Opset("com.acme", 1)


@script(acme, default_opset=op)
def swish(x, beta: float = 1.0):
    """Smooth gating: x times the sigmoid of beta times x."""
    return x * op.Sigmoid(x * beta)


@script(acme, default_opset=op)
def gated(x, gate):
    """One half of a gated linear unit."""
    return swish(gate, beta=1.5) * x


@script()
def block(x: FLOAT["N", 4], gate: FLOAT["N", 4]) -> FLOAT["N", 4]:
    return gated(x, gate) + swish(x)


@script()
def hashed(x: FLOAT["N"]) -> FLOAT["N"]:
    """`Bucketize` has no definition here: the node is kept for a runtime that has a kernel."""
    return acme.Bucketize(op.Abs(x), boundaries=[0.5, 1.5], right=True)


rng = np.random.default_rng(0)
x = rng.normal(size=(2, 4)).astype(np.float32)
gate = rng.normal(size=(2, 4)).astype(np.float32)

model = block.to_model_proto()
onnx.checker.check_model(model, full_check=True)
print("functions:", [f"{function.domain}.{function.name}" for function in model.functions])
print("imports:", {entry.domain: entry.version for entry in model.opset_import})

session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
(compiled,) = session.run(None, {"x": x, "gate": gate})
np.testing.assert_allclose(block(x, gate), compiled, rtol=1e-6)
print("block:", compiled.shape)

node = hashed.to_model_proto().graph.node[-1]
print("kept as is:", node.domain, node.op_type, sorted(a.name for a in node.attribute))
