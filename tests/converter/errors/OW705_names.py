from onnxwright import FLOAT, script
from onnxwright import opset18 as op


def make(factor):
    @script()
    def scaled(x: FLOAT["N"]) -> FLOAT["N"]:
        y = x * factor
        return op.Relu(y)

    return scaled


first, second = make(2.0), make(3.0)


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return first(x) + second(x)


f.to_model_proto(functions="all")
