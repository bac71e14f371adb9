from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    return x[0.5]


f.to_model_proto()
