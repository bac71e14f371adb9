from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"]) -> INT64["N"]:
    return x + 1.0


f.to_model_proto()
