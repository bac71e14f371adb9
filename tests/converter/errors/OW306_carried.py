from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64[()]):
    y = x
    for _ in range(n):
        y = op.Cast(y, to=INT64.dtype)
    return y


f.to_model_proto()
