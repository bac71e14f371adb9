from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"], k: int | None = None) -> FLOAT["N"]:
    return x + (1 if k is None else k)


f.to_model_proto()
