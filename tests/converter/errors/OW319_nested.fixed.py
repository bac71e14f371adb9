from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    return x + 1.0 if n > 30 else x


f.to_model_proto()
