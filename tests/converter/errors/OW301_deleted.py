from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"], y: FLOAT["N"]) -> FLOAT["N"]:
    z = x * y
    del y
    return z + y


f.to_model_proto()
