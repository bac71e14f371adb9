from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    best = yield x
    return best


f.to_model_proto()
