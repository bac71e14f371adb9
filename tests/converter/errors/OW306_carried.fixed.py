from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64[()]):
    y = op.Cast(x, to=INT64.dtype)
    for _ in range(n):
        y = y + 1
    return y


f.to_model_proto()
