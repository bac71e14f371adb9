from onnxwright import FLOAT, script


@script()
def f(x: FLOAT, k: int | None = None) -> FLOAT:
    return x + (1 if k is None else k)


f.to_model_proto()
