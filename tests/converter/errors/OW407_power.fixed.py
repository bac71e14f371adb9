from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(n: INT64["N"]) -> FLOAT["N"]:
    return op.Cast(n, to=FLOAT.dtype) ** -1


f.to_model_proto()
