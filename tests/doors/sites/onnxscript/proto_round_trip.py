import numpy as np
import onnx
import onnxruntime as ort

from onnxscript import FLOAT, proto2python, script
from onnxscript import opset18 as op


def run(model, **inputs):
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    return op.Softmax(op.Relu(x) + 1.0, axis=-1)


text = proto2python(f.to_model_proto())
assert "Softmax" in text and "@script" in text
