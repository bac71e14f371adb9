from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@onnxscript.script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return onnxscript.opset18.Relu(x)


@onnxscript.script()
def g(x: FLOAT["N"]) -> FLOAT["N"]:
    return onnxscript.onnx_opset.opset18.Relu(x)
