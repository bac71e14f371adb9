from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64["N"]):
    if x[0] > 0:
        y = x
    else:
        y = op.CastLike(n, x)
    return y


f.to_model_proto()
