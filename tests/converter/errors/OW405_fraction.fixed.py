from onnxwright import DOUBLE, INT64, script
from onnxwright import opset18 as op


@script()
def f(n: INT64["N"]) -> DOUBLE["N"]:
    return op.Cast(n, to=DOUBLE.dtype) + 1.5


f.to_model_proto()
