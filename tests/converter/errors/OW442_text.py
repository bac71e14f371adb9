from onnxwright import script


@script()
def f(x: "FLAOT['N']"):
    return x + 1.0


f.to_model_proto()
