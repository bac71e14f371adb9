from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], n: INT64[()]):
    sizes = list(range(n))
    return op.Concat(x, *sizes, axis=0)


f.to_model_proto()
