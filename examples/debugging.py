"""Find where a function goes wrong: trace its lines, debug its model, compare it with another."""

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def standardized(x: FLOAT["N", "D"]) -> FLOAT["N", "D"]:
    """Rows of mean zero and variance one; NaN for a row that does not vary."""
    mean = op.ReduceMean(x, [1], keepdims=1)
    centred = x - mean
    variance = op.ReduceMean(centred * centred, [1], keepdims=1)
    return centred / op.Sqrt(variance)


@script()
def robust(x: FLOAT["N", "D"]) -> FLOAT["N", "D"]:
    """The same, with a little more variance."""
    mean = op.ReduceMean(x, [1], keepdims=1)
    centred = x - mean
    variance = op.ReduceMean(centred * centred, [1], keepdims=1) + 1e-5
    return centred / op.Sqrt(variance)


x = np.array([[1, 2, 3], [4, 4, 4]], np.float32)

# Each line with the values it made.
print(ow.trace(standardized, x), end="\n\n")

# Stop at the first line that makes a NaN.
try:
    ow.trace(standardized, x, stop_on="nan")
except ow.EagerError as error:
    print(error, end="\n\n")

# The compiled model node by node, each node with its Python line.
model = standardized.to_model_proto()
run = ow.debug(model, {"x": x})
print(run, end="\n\n")
assert np.isnan(run.outputs["output"]).sum() == 3

# Once more from a node on, with another value.
again = run.resume("sqrt", variance=np.ones((2, 1), np.float32))
print("with a variance of one:", again.outputs["output"].tolist(), end="\n\n")

# Where do the two versions part, and does the model compute what the function computes?
print(ow.first_divergence(standardized, robust, [x]))
print("function and model:", ow.first_divergence(robust, robust.to_model_proto(), [x]))
