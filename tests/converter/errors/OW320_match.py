from onnxwright import BOOL, FLOAT, script


@script()
def f(x: FLOAT["N"], flag: BOOL[()]) -> FLOAT["N"]:
    match flag:
        case True:
            return x + 1
        case _:
            return x - 1


f.to_model_proto()
