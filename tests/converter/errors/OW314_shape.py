from onnxwright import FLOAT, script


@script()
def f(x: FLOAT[3]) -> FLOAT[4]:
    return x + 1.0


f.to_model_proto()
