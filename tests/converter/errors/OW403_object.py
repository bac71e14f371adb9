from onnxwright import FLOAT, script
from onnxwright import opset18 as op


class Layer:
    pass


layer = Layer()


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Add(x, layer)


f.to_model_proto()
