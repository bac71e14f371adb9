from onnxwright import FLOAT, script


@script()
def f(x: FLOAT[2, 2]):
    return x + [[1.0, 2.0], [3.0]]


f.to_model_proto()
