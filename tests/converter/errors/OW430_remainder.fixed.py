from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Mod(x, 3.0, fmod=1)


f.to_model_proto()
