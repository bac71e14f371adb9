from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT[()]:
    return x.item()


f.to_model_proto()
