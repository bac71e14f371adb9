from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    number = 3
    return x + number


f.to_model_proto()
