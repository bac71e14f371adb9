from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    if n > 31:
        x = x + 1.0
    return x


f.to_model_proto()
