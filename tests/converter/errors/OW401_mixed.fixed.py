from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64["N"]) -> FLOAT["N"]:
    return x * op.CastLike(n, x)


f.to_model_proto()
