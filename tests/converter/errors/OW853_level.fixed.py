import onnxwright as ow


@ow.rule(level="rounding")
def twice(op, x):
    return op.Neg(op.Neg(x))
