from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    if x[0] > 0:
        return x
    return x, x


f.to_model_proto()
