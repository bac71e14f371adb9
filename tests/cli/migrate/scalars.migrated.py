from typing import Optional

from onnxwright import BOOL, script
from onnxwright.onnx_types import FLOAT, INT64
from onnxwright.onnx_opset import opset16 as op


@script()
def f(x: FLOAT["N"], n: INT64, flag: BOOL, low: Optional[FLOAT] = None) -> (FLOAT[...], INT64):
    return op.Relu(x), n
# 9: `BOOL` alone is a tensor of any rank here; a scalar, as in onnxscript, is `BOOL[()]`
# 9: `INT64` alone is a tensor of any rank here; a scalar, as in onnxscript, is `INT64[()]`
