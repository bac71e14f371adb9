from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N"]:
    return x.sum(axis=2)


f.to_model_proto()
