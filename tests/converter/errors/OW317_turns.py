from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    parts = []
    for k in range(1_000_000):
        parts = parts + [x * k]
    return op.Concat(*parts, axis=0)


f.to_model_proto()
