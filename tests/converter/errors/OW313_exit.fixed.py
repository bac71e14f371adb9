from onnxwright import FLOAT, INT64, Opset, script
from onnxwright import opset18 as op

mine = Opset("my.domain", 1)


@script()
def f(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    result = x
    for _ in range(n):
        if x[0] > 3:
            result = op.CastLike(mine.Special(x), x)
            break
        x = x + 1.0
    return result


f.to_model_proto()
