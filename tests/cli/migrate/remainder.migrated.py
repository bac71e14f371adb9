from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]):
    y = 7.0 % x
    y %= 3.0
    return y


text = "%d" % 3
# 6: `%` of floating-point tensors has the sign of the divisor here: see `op.Mod(fmod=1)`
# 7: `%` of floating-point tensors has the sign of the divisor here: see `op.Mod(fmod=1)`
