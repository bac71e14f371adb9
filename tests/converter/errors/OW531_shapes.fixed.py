from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT[3, 4], y: FLOAT[4, 6]):
    return op.MatMul(x, y)


f.to_model_proto()
