import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = op.Log(op.Max(x, 1e-6))
    return y * 2.0


ow.debug(f, [np.zeros(3, np.float32)], stop_on="inf")
