import numpy as np

from onnxwright import FLOAT, script
from onnxwright import opset18 as op

times = np.array(["2024-01-01"], dtype="datetime64[D]").astype(np.int64)


@script()
def f(x: FLOAT["N"]):
    return x, op.Identity(times)


f.to_model_proto()
