from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y: FLOAT["N"] = x + 1.0
    return y


f.to_model_proto()
