# warns: OW710 OW710
import numpy as np
import onnx
import onnxruntime as ort

import math
from onnxscript import script, FLOAT
from onnxscript import opset15 as op


def run(model, **inputs):
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


M_SQRT1_2 = math.sqrt(0.5)


@script(default_opset=op)
def gelu(X: FLOAT[...]) -> FLOAT[...]:
    phiX = 0.5 * (op.Erf(M_SQRT1_2 * X) + 1.0)
    return X * phiX


x = np.linspace(-2, 2, 7, dtype=np.float32)
want = np.array([v * 0.5 * (math.erf(v * math.sqrt(0.5)) + 1) for v in x], np.float32)
np.testing.assert_allclose(gelu(x), want, rtol=1e-5, atol=1e-6)
np.testing.assert_allclose(run(gelu.to_model_proto(), X=x)[0], want, rtol=1e-5, atol=1e-6)
