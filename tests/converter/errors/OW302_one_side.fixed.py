from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = x
    if op.ReduceSum(x, keepdims=0) > 0:
        y = x + 1.0
    return y


f.to_model_proto()
