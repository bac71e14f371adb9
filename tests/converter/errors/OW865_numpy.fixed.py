import numpy as np

from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    angle = np.pi * x
    return np.where(x == 0, 1, np.sin(angle) / angle)


f.to_model_proto()
