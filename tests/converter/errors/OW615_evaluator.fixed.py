import numpy as np

from onnxwright import evaluator
from onnxwright import opset18 as op

with evaluator("reference"):
    op.Abs(np.ones(3, np.float32))
