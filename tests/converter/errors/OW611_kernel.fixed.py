import numpy as np

from onnxwright import opset18 as op

op.Sin(np.ones(3, np.float32))
