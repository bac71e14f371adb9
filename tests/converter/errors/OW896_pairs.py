from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64[()]):
    found = []
    for i in range(n):
        found.append((x * i, i))
    return found[0][0]


f.to_model_proto()
