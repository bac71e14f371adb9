from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT["N"], **options):
    return op.Softmax(x, **options)


f.to_model_proto()
