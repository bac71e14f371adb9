import numpy as np

from onnxwright import Opset

future = Opset("", 999)
future.Abs(np.ones(3, np.float32))
