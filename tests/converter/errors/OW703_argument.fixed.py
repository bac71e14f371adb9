from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], axis: int = 0) -> FLOAT["N"]:
    return op.Softmax(x, axis=axis)


f.to_model_proto(attributes={"axis": 0})
