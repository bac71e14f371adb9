from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    return x, x + 1.0


f.to_model_proto()
