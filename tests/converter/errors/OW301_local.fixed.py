from onnxwright import FLOAT, script

scale = 2.0


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = x * scale
    larger = 3.0
    return y * larger


f.to_model_proto()
