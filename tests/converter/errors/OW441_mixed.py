from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"] | int) -> FLOAT["N"]:
    return x + 1.0


f.to_model_proto()
