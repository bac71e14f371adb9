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


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    one = op.Constant(value_floats=[1.0, 1.0, 1.0])
    y, mean, var = op.BatchNormalization(x, one, one, one, one, training_mode=1)
    return y + mean


assert len(f.to_model_proto().graph.node[-2].output) == 3
