from onnxwright import FLOAT, script


@script()
def f(x: FLOAT[2, 3], y: FLOAT[2, 4]):
    return x + y


f.to_model_proto()
