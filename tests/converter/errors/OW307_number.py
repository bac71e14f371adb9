from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    for i in 3:
        x = x + i
    return x


f.to_model_proto()
