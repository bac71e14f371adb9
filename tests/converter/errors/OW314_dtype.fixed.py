from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> INT64["N"]:
    return op.Cast(x + 1.0, to=INT64.dtype)


f.to_model_proto()
