import numpy as np

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


class Layer:
    bias = np.ones(3, np.float32)


layer = Layer()


@script()
def f(x: FLOAT[3]) -> FLOAT[3]:
    return op.Add(x, layer.bias)


f.to_model_proto()
