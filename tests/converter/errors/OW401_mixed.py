from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"], n: INT64["N"]) -> FLOAT["N"]:
    return x * n


f.to_model_proto()
