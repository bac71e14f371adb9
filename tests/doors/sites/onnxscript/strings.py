import numpy as np
import onnx
import onnxruntime as ort

from onnxscript import BOOL, STRING, FLOAT, script
from onnxscript import opset20 as op


def run(model, **inputs):
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@script()
def f(s: STRING["N"]) -> STRING["N"]:
    return op.StringConcat(s, op.Constant(value_string="!"))


@script()
def pick(x: FLOAT["N"], mode: str = "up"):
    if mode == "up":
        y = op.Ceil(x)
    else:
        y = op.Floor(x)
    return y


(y,) = run(f.to_model_proto(), s=np.array(["a", "b"], object))
assert list(y) == ["a!", "b!"]
np.testing.assert_allclose(pick(np.array([0.5], np.float32)), [1])
