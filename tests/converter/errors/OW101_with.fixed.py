import numpy as np

from onnxwright import FLOAT, script

weights = np.ones(3, np.float32)  # read before, outside the script


@script()
def f(x: FLOAT[3]) -> FLOAT[3]:
    return x + weights


f.to_model_proto()
