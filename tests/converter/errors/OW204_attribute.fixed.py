from onnxwright import FLOAT, script
from onnxwright import opset18 as op


class config:
    axis = 1


@script()
def f(x: FLOAT["N", "M"]) -> FLOAT["N", "M"]:
    return op.Softmax(x, axis=config.axis)


f.to_model_proto()
