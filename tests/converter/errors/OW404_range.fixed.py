from onnxwright import INT32, UINT8, script
from onnxwright import opset18 as op


@script()
def f(x: UINT8["N"]) -> INT32["N"]:
    return op.Cast(x, to=INT32.dtype) + 300


f.to_model_proto()
