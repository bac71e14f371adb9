from onnxwright import script


@script()
def f(x):
    return x + 1.0


f.to_model_proto()
