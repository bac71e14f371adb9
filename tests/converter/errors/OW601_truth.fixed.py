import numpy as np

from onnxwright import Tensor
from onnxwright import opset18 as op

x = Tensor(np.array([1.0, 2.0], np.float32))
if op.ReduceMin(x) > 0:
    print("positive")
