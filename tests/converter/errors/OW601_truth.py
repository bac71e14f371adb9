import numpy as np

from onnxwright import Tensor

x = Tensor(np.array([1.0, 2.0], np.float32))
if x > 0:
    print("positive")
