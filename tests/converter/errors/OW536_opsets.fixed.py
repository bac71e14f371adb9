from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N", "M"]):
    first, second = op.Split(x, axis=0, num_outputs=2)
    return op.ReduceSum(first, [0]), second


f.to_model_proto()
