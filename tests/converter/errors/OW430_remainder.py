from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x % 3.0


f.to_model_proto()
