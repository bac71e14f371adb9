from onnxwright import FLOAT, script


@script()
def f(x: FLOAT[3]) -> FLOAT[3]:
    if x > 0:
        return x
    return -x


f.to_model_proto()
