import numpy as np

from onnxwright import opset18 as op

op.Reshape(np.ones(6, np.float32), np.array([4, 4]))
