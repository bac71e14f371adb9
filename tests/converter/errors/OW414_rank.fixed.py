from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N", 2, 2]):
    return x[..., [0, 1], [1, 0]]


f.to_model_proto()
