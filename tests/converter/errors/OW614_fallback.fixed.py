import ml_dtypes
import numpy as np

from onnxwright import evaluator
from onnxwright import opset18 as op

with evaluator("reference"):
    op.Add(np.ones(3, ml_dtypes.bfloat16), np.ones(3, ml_dtypes.bfloat16))
