from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    y = -x
    for k in range(8):
        if n == k and x[0] > k:
            y = x + k
    return y


f.to_model_proto()
