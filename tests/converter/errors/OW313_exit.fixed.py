from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64[()]):
    for _ in range(n):
        x = op.Relu(x)
        if x[0] > 3:
            return x
    return -x


f.to_function_proto()
