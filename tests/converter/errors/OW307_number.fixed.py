from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    for i in range(3):
        x = x + i
    return x


f.to_model_proto()
