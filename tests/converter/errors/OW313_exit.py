from onnxwright import script
from onnxwright import opset18 as op


@script()
def f(x, n):
    for _ in range(n):
        x = op.Relu(x)
        if x[0] > 3:
            return x
    return -x


f.to_function_proto()
