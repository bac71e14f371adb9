import numpy as np

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], axis: int = 0) -> FLOAT["N"]:
    return op.Softmax(x, axis=axis)


f(np.ones(3, np.float32), axes=0)
