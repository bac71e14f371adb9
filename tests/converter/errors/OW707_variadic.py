from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def total(*xs: FLOAT["N"]) -> FLOAT["N"]:
    return op.Sum(*xs)


total.to_function_proto()
