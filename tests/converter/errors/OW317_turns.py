from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    for k in range(1_000_000):
        x = op.LeakyRelu(x, alpha=k)
    return x


f.to_model_proto()
