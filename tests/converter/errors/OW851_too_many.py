import onnxwright as ow


@ow.rule
def sums(op, x, y):
    return ((((((x + y) * x + y) * x) + y) * x) + y) * x
