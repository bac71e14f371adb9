from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["M"]:
    parts = []
    for k in range(3):
        parts = parts + [x * k]
    return op.Concat(*parts, axis=0)


f.to_model_proto()
