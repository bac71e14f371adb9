import onnxwright as ow


@ow.rule
def sums(op, a, b, c, d, e, f, g, h):
    return a * b + c * d + e * f + g * h
