from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    return "done"


f.to_model_proto()
