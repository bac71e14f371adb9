from onnxwright import INT64, opset15, script


@script()
def f(a: INT64["N"]) -> INT64["N"]:
    return opset15.Abs(a) & 7


f.to_model_proto()
