from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", "M"]):
    grown = op.Resize(x, None, [2.0, 2.0])
    return op.ReduceMean(grown, [0])


f.to_model_proto()
