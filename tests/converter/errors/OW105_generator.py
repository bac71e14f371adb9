from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    yield x
    yield x + 1.0


f.to_model_proto()
