from onnxwright import FLOAT, opset6, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", "M"]):
    dropped = opset6.Dropout(x)
    return op.ReduceSum(dropped, [0])


f.to_model_proto()
