from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", "M"]) -> FLOAT["N"]:
    return op.ReduceSum(x, [1], keepdims=0)


f.to_model_proto()
