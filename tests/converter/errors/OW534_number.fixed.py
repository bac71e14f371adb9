from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: int = 3):
    parts = [x * k for k in range(n)]
    return op.Concat(*parts, axis=0)


f.to_model_proto()
