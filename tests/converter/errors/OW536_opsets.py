from onnxwright import FLOAT, opset9, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", "M"]):
    grown = opset9.Upsample(op.Identity(x), [2.0, 2.0])
    return op.ReduceMean(grown, [0])


f.to_model_proto()
