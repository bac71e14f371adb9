from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    assert x.shape[1] == 3
    return op.Sqrt(x)


f.to_model_proto()
