from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    é = x; 値 = é + nope
    return 値


f.to_model_proto()
