from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    rows = [x * k for k in range(3)]
    return op.Concat(*rows, axis=0)


f.to_model_proto()
