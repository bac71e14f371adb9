from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x, y):
    return op.Add(x, y)


f.to_model_proto(input_types=[FLOAT["N"], FLOAT["N"]])
