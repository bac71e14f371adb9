from onnxwright import FLOAT, script


@script()
def f(x: FLOAT[-1, 3]):
    return x + 1.0


f.to_model_proto()
