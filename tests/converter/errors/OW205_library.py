import math

from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return math.tanh(x)


f.to_model_proto()
