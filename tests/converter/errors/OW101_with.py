from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    with open("weights.txt") as file:
        y = x + 1.0
    return y


f.to_model_proto()
