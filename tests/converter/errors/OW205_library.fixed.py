from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Tanh(x)


f.to_model_proto()
