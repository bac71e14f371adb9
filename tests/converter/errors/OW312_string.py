from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    if x[0] > 0:
        mode = "edge"
    else:
        mode = "reflect"
    return op.Pad(x, [1, 1], mode=mode)


f.to_model_proto()
