"""Loops, breaks and early returns become Loop and If nodes with the same meaning."""

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def power_of_two_above(limit: FLOAT[()]) -> FLOAT[()]:
    """A `while` loop: the number of trips is known only when running."""
    value = op.CastLike(1.0, limit)
    while value <= limit:
        value = value * 2.0
    return value


@script()
def first_negative(x: FLOAT["N"]) -> INT64[()]:
    """A `return` inside a loop: the position of the first negative number, or -1."""
    for i in range(len(x)):
        if x[i] < 0.0:
            return i
    return -1


@script()
def sum_until(x: FLOAT["N"], limit: FLOAT[()]) -> FLOAT[()]:
    """A `break`, and the `else` of a loop that ran to its end."""
    total = op.CastLike(0.0, x)
    for i in range(len(x)):
        if total + x[i] > limit:
            break
        total = total + x[i]
    else:
        total = -total
    return total


@script()
def activation(x: FLOAT["N"]) -> FLOAT["N"]:
    """A `return` in each branch, one of them nested."""
    if op.ReduceMax(x) > 0.0:
        if op.ReduceMin(x) >= 0.0:
            return x
        return op.Relu(x)
    return op.Abs(x) / 10.0


def run(model: onnx.ModelProto, *inputs: np.ndarray) -> np.ndarray:
    """The result of a model in ONNX Runtime."""
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))[0]


def floats(*values: float) -> np.ndarray:
    """A float32 vector."""
    return np.array(values, np.float32)


for function, cases in (
    (power_of_two_above, [(np.float32(0.5),), (np.float32(100),)]),
    (first_negative, [(floats(3, 1, -2, -5),), (floats(1, 2),)]),
    (sum_until, [(floats(1, 2, 3, 4), np.float32(4)), (floats(1, 2), np.float32(4))]),
    (activation, [(floats(1, 2),), (floats(-1, 2),), (floats(-1, -2),)]),
):
    model = function.to_model_proto()
    for inputs in cases:
        arrays = [np.asarray(value) for value in inputs]
        eager = function(*arrays)
        np.testing.assert_array_equal(eager, run(model, *arrays))
        print(f"{function.__name__}{tuple(array.tolist() for array in arrays)} = {eager}")
