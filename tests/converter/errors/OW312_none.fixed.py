from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    if x[0] > 0:
        y = x
    else:
        y = op.Clip(x, 0.0)
    return y


f.to_model_proto()
