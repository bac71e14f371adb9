from onnxwright import FLOAT, INT64, script


def deeper(x, n, level):
    if level == 31:
        return x + 1.0
    return deeper(x, n, level + 1) if n > level else x


@script()
def f(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    return deeper(x, n, 0)


f.to_model_proto()
