from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    x[0] = 1.0
    return x


f.to_model_proto()
