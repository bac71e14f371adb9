from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    if x[0] > 0:
        low = None
    else:
        low = op.Identity(0.0)
    return op.Clip(x, low)


f.to_model_proto()
