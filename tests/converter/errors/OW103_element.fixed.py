from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.ScatterElements(x, [0], [1.0])


f.to_model_proto()
