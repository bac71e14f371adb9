from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    return x[len(x) // 2]


f.to_model_proto()
