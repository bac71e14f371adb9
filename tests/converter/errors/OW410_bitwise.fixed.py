from onnxwright import INT64, script
from onnxwright import opset18 as op


@script()
def f(a: INT64["N"]) -> INT64["N"]:
    return op.Abs(a) & 7


f.to_model_proto()
