from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT[()]:
    return x[0]


f.to_model_proto()
