import numpy as np
import onnx
import onnxruntime as ort

from onnxscript import FLOAT, UINT8, script
from onnxscript import opset18 as op


def run(model, **inputs):
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y, scale, zero = op.DynamicQuantizeLinear(x)
    return op.DequantizeLinear(y, scale, zero)


x = np.linspace(-1, 1, 5, dtype=np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x)[0], x, atol=0.01)
