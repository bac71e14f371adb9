from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def total(*xs: FLOAT["N"]) -> FLOAT["N"]:
    return op.Sum(*xs)


@script()
def f(x: FLOAT["N"], y: FLOAT["N"]) -> FLOAT["N"]:
    return total(x, y)


f.to_model_proto()
