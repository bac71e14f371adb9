from onnxwright import FLOAT, script


def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1.0


script()(f).to_model_proto()
