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


@onnxscript.script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return onnxscript.opset18.Relu(x)


@onnxscript.script()
def g(x: FLOAT["N"]) -> FLOAT["N"]:
    return onnxscript.onnx_opset.opset18.Relu(x)
