import numpy as np

from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return np.sinc(x)


f.to_model_proto()
