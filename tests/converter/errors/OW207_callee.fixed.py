from onnxwright import FLOAT, script


@script()
def scaled(x: FLOAT["N"], factor: float = 2.0) -> FLOAT["N"]:
    return x * factor


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return scaled(x, factor=3.0)


f.to_model_proto()
