import onnxwright as ow


@ow.rule
def sums(op, x):
    return ((x + 1) * 2 + 3) * 4
