from onnxwright import BOOL, FLOAT, script


@script()
def f(x: FLOAT["N"], flag: BOOL[()]) -> FLOAT["N"]:
    return x if flag is not False else -x


f.to_model_proto()
