from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y: INT64["N"] = x + 1.0
    return y


f.to_model_proto()
