# warns: OW417 OW417 OW417
import numpy as np
import onnx
import onnxruntime as ort

from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


def run(model, **inputs):
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@script(default_opset=op)
def f(a: BOOL["N"], b: BOOL["N"]) -> (BOOL["N"], BOOL["N"], BOOL["N"]):
    return a and b, a or b, not a


a = np.array([True, False]); b = np.array([True, True])
x, y, z = run(f.to_model_proto(), a=a, b=b)
assert list(x) == [True, False] and list(y) == [True, True] and list(z) == [False, True]
