from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def scaled(x: FLOAT["N"], factor: float) -> FLOAT["N"]:
    y = x * factor
    return op.Relu(y)


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return scaled(x, factor=2.0) + scaled(x, factor=3.0)


f.to_model_proto(functions="all")
