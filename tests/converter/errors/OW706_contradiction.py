from onnxwright import FLOAT, INT64, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1.0


f.to_model_proto(input_types=[INT64["N"]])
