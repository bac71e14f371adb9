from onnxscript import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    y = 7.0 % x
    y %= 3.0
    return y


text = "%d" % 3
