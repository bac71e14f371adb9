import numpy as np

from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> INT64["N"]:
    return op.Cast(x, to=INT64.dtype)


f(np.ones(3, np.float32))
