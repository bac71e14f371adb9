from onnxwright import FLOAT, opset12, opset15, script
from onnxwright import opset18 as op


@script()
def old(x: FLOAT["N", "M"]):
    return opset12.Dropout(x, 0.5)


@script()
def f(x: FLOAT["N", "M"]):
    return op.ReduceMean(opset15.ReduceMean(x, axes=[1]), [0])


f.to_model_proto()
