from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    import math

    try:
        y = x + math.pi
    except ValueError:
        y = x
    global z
    z = y
    return y


f.to_model_proto()
