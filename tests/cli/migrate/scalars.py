from typing import Optional

from onnxscript import BOOL, script
from onnxscript.onnx_types import FLOAT, INT64
from onnxscript.onnx_opset import opset16 as op


@script()
def f(x: FLOAT["N"], n: INT64, flag: BOOL, low: Optional[FLOAT] = None) -> (FLOAT[...], INT64):
    return op.Relu(x), n
