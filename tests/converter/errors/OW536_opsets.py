from onnxwright import FLOAT, opset1, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", "M"]):
    first, second = opset1.Split(x, axis=0)
    return op.ReduceSum(first, [0]), second


f.to_model_proto()
