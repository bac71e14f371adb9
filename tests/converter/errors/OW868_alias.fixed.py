from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N", 3]) -> FLOAT[3]:
    first = x[0].copy()
    x[0] = 1.0
    return first


f.to_model_proto()
