from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["M"]:
    return x[1:]


f.to_model_proto()
