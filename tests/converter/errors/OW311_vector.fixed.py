from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT[3]) -> FLOAT[3]:
    return op.Where(x > 0, x, -x)


f.to_model_proto()
