from onnxwright import FLOAT, script


def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1.0


script(source="def f(x): return x * 2.0")(f).to_model_proto()
