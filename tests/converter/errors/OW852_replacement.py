import onnxwright as ow


@ow.rule
def twice(op, x):
    return op.Neg(op.Neg(x))


@twice.to
def _(op, y):
    return y
