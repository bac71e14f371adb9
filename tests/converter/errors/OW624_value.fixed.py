import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = op.Abs(x)
    return y * 2.0


run = ow.debug(f, [np.zeros(3, np.float32)])
print(run["y"])
