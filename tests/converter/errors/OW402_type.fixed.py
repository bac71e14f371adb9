from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: INT64["N"]):
    return op.Sin(op.Cast(x, to=FLOAT.dtype))


f.to_model_proto()
