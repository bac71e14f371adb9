from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    for i in range(n):
        x = x + i
    return x


f.to_model_proto()
