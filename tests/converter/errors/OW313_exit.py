from onnxwright import FLOAT, INT64, Opset, script

mine = Opset("my.domain", 1)


@script()
def f(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    for _ in range(n):
        if x[0] > 3:
            return mine.Special(x)
        x = x + 1.0
    return x


f.to_model_proto()
