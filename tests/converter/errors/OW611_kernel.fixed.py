import numpy as np

from onnxwright import opset18 as op

op.Add(np.ones(3, np.float32), np.ones(3, np.float32))
