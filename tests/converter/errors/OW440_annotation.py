from onnxwright import FLOAT, script


@script()
def f(x: dict) -> FLOAT["N"]:
    return x + 1.0


f.to_model_proto()
