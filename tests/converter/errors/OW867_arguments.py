from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N"]:
    return x.sum(axis=1, initial=1.0)


f.to_model_proto()
