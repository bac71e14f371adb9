from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64[()]):
    found = []
    for i in range(n):
        found.append(x * i)
    return op.ConcatFromSequence(found, axis=0)


f.to_function_proto()
