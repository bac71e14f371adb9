from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    if n == 0:
        if x[0] > 0:
            return x
    if n == 1:
        if x[0] > 1:
            return x + 1.0
    if n == 2:
        if x[0] > 2:
            return x + 2.0
    if n == 3:
        if x[0] > 3:
            return x + 3.0
    if n == 4:
        if x[0] > 4:
            return x + 4.0
    if n == 5:
        if x[0] > 5:
            return x + 5.0
    if n == 6:
        if x[0] > 6:
            return x + 6.0
    if n == 7:
        if x[0] > 7:
            return x + 7.0
    return -x


f.to_model_proto()
