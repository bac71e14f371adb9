from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["M"]:
    if x[0] > 0:
        y = op.Pad(x, [1, 1], mode="edge")
    else:
        y = op.Pad(x, [1, 1], mode="reflect")
    return y


f.to_model_proto()
