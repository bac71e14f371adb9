import numpy as np
import onnx
import onnxruntime as ort

import onnxscript
from onnxscript import evaluator, script, FLOAT
from onnxscript import opset18 as op
from onnxscript.evaluator import ORTEvaluator, OnnxReferenceRuntimeEvaluator, default, default_as, set_default


def run(model, **inputs):
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(x) + 1.0


x = np.array([-1, 1], np.float32)
with default_as(OnnxReferenceRuntimeEvaluator()):
    np.testing.assert_allclose(f(x), [1, 2])
with onnxscript.evaluator.default_as(ORTEvaluator()):
    np.testing.assert_allclose(f(x), [1, 2])
before = default()
set_default(ORTEvaluator())
assert default() is not before
set_default(before)
with evaluator.default_as(evaluator.ORTMixedEvaluator()):
    np.testing.assert_allclose(f(x), [1, 2])
