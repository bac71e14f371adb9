from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], axis: INT64):
    return op.Softmax(x, axis=axis)


f.to_model_proto()
