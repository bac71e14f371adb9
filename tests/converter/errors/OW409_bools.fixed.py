from onnxwright import BOOL, script


@script()
def f(a: BOOL["N"], b: BOOL["N"]):
    return a ^ b


f.to_model_proto()
