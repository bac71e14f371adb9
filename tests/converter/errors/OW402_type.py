from onnxwright import INT64, script
from onnxwright import opset18 as op


@script()
def f(x: INT64["N"]):
    return op.Sin(x)


f.to_model_proto()
