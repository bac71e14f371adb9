from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N", 3], row: FLOAT[4]) -> FLOAT["N", 3]:
    x[0] = row
    return x


f.to_model_proto()
