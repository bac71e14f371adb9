from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"], y: FLOAT["N"]):
    return x // y


f.to_model_proto()
