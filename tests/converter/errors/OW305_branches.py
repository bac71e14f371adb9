from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"], n: INT64["N"]):
    if x[0] > 0:
        y = x
    else:
        y = n
    return y


f.to_model_proto()
