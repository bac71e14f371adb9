from onnxwright import BOOL, FLOAT, script


@script()
def f(x: FLOAT["N"], flag: BOOL[()]) -> FLOAT["N"]:
    if flag:
        return x + 1
    return x - 1


f.to_model_proto()
