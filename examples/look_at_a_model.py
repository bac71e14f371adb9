"""A model looked at: a typed listing, figures with the estimated work, a picture, a page."""

import onnxwright as ow
from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def normalize(x, epsilon: float = 1e-5):
    """Rows with mean 0 and variance 1."""
    centred = x - op.ReduceMean(x, keepdims=1)
    return centred / op.Sqrt(op.ReduceMean(centred * centred, keepdims=1) + epsilon)


@script()
def refine(x: FLOAT["N", 8], weight: FLOAT[8, 8], turns: INT64[()]) -> FLOAT["N", 8]:
    """A layer that is applied until the time is up."""
    y = normalize(x)
    for _ in range(turns):
        if op.ReduceMean(y, keepdims=0) > 0.0:
            y = op.Relu(y @ weight)
        else:
            y = op.Sigmoid(y) + x
    return op.Softmax(y, axis=-1)


shown = ow.show(refine, dims={"N": 4})

# Every line says what its values are and which Python line it comes from.
print(shown)

# Operators, parameters, estimated floating point operations.
print()
print(shown.summary)
for work in shown.summary.work:
    if work.flops:
        print(f"{work.op:>12}: {work.flops}")

# The page holds a picture with nested boxes where the extra `viz` is installed.
shown.save("refine.html")
print()
print("written: refine.html")
