from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    if x[0] < 0:
        raise ValueError("negative")
    return op.Sqrt(x)


f.to_model_proto()
