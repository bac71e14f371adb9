from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return max(x, 0.0)


f.to_model_proto()
