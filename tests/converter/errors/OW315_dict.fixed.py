from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    return x


f.to_model_proto()
