from onnxwright import FLOAT, Opset, script

custom = Opset("my.domain", 1)


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return custom.Scale(x, keys=["a"], values=[1])


f.to_model_proto()
