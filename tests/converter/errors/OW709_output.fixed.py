from onnxwright import FLOAT, Opset, script

mine = Opset("my.domain", 1)


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return mine.Twice(x)


f.to_model_proto()
