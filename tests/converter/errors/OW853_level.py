import onnxwright as ow


@ow.rule(level="close")
def twice(op, x):
    return op.Neg(op.Neg(x))
