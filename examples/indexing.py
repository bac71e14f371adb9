"""Subscripts mean what they mean in numpy, eagerly and in a model."""

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, INT64, script


@script()
def corner(x: FLOAT["N", "M"]) -> FLOAT[()]:
    return x[0, -1]


@script()
def reversed_rows(x: FLOAT["N", "M"]) -> FLOAT["N", "M"]:
    return x[::-1]


@script()
def middle(x: FLOAT["N", "M"], start: INT64[()], stop: INT64[()]) -> FLOAT["N", "K"]:
    return x[:, start:stop]


@script()
def column(x: FLOAT["N", "M"]) -> FLOAT["N", 1]:
    return x[..., 1, None]


@script()
def chosen(x: FLOAT["N", "M"], rows: INT64["K"]) -> FLOAT["K", "M"]:
    return x[rows]


@script()
def positive(x: FLOAT["N", "M"]) -> FLOAT["K"]:
    return x[x > 0.0]


@script()
def masked(x: FLOAT["N", "M"], rows: INT64["K"]) -> FLOAT["N", "M"]:
    x[x < 0.0] = 0
    x[rows, -1] += 1
    return x


def run(model: onnx.ModelProto, *inputs: np.ndarray) -> np.ndarray:
    """The result of a model in ONNX Runtime."""
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))[0]


x = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
two, three, rows = np.array(1), np.array(3), np.array([2, 0])

for function, inputs, expected in (
    (corner, (x,), x[0, -1]),
    (reversed_rows, (x,), x[::-1]),
    (middle, (x, two, three), x[:, 1:3]),
    (column, (x,), x[..., 1, None]),
    (chosen, (x, rows), x[rows]),
    (positive, (x,), x[x > 0]),
    (masked, (x, rows), np.maximum(x, 0) + np.array([[0, 0, 0, 1], [0] * 4, [0, 0, 0, 1]])),
):
    np.testing.assert_array_equal(function(*inputs), expected)
    model = function.to_model_proto()
    np.testing.assert_array_equal(run(model, *inputs), expected)
    kinds = [node.op_type for node in model.graph.node]
    print(f"{function.__name__}: shape {expected.shape}, nodes {kinds}")
