import numpy as np
import onnx
import onnxruntime as ort

from onnxscript import FLOAT, INT64, script
from onnxscript.onnx_opset import opset15 as op


def run(model, **inputs):
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@script(default_opset=op)
def f(x: FLOAT["N"]) -> (FLOAT["N"], INT64):
    total = op.Identity(x)
    count = op.Constant(value_int=0)
    for i in range(10):
        total = total + x
        count = count + 1
        cond = op.ReduceSum(total) > 10.0
        if cond:
            break
    return total, count


x = np.array([1, 1], np.float32)
y, n = run(f.to_model_proto(), x=x)
np.testing.assert_allclose(y, 6 * x)
assert n == 5
