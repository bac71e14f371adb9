from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    assert x[0] >= 0
    return op.Sqrt(x)


f.to_model_proto()
