from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    factors = [0.5, 2.0]
    if op.ReduceSum(x) > 0.0:
        x = x * factors.pop()
    return x * factors.pop()


f.to_model_proto()
