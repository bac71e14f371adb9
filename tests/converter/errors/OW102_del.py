from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["M"]:
    del x[0]
    return x


f.to_model_proto()
