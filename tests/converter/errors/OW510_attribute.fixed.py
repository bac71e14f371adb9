from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]):
    return op.Concat(x, x, axis=0)


f.to_model_proto()
