import numpy as np

from onnxwright import Opset

current = Opset("", 18)
current.Abs(np.ones(3, np.float32))
