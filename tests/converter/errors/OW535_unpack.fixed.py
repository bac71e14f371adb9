from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]):
    values, indices = op.TopK(x, [1])
    return values


f.to_model_proto()
