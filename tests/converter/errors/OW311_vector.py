from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    if x > 0:
        return x
    return -x


f.to_model_proto()
