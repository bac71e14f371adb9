from onnxwright import INT64, script


@script()
def f(x: INT64["N"], y: INT64["N"]):
    return x << y


f.to_function_proto()
