from onnxwright import INT64, script


@script()
def f(n: INT64["N"]) -> INT64["N"]:
    return n**-1


f.to_model_proto()
