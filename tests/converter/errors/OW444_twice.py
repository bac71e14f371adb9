from onnxwright import FLOAT, script

Matrix = FLOAT["N", "M"]


@script()
def f(x: Matrix[3]):
    return x + 1.0


f.to_model_proto()
