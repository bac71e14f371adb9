from onnxwright import FLOAT, opset20, script


@script()
def f(x: FLOAT["N"]):
    return opset20.Gelu(x)


f.to_model_proto()
