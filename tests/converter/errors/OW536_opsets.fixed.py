from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", "M"]):
    return op.ReduceMean(op.ReduceMean(x, [1]), [0])


f.to_model_proto()
