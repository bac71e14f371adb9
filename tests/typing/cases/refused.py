"""What type checkers find; each marked line is an error, and no other."""

from onnxwright import export, script
from onnxwright.opset import opset18 as op
from onnxwright.types import DOUBLE, FLOAT, INT64


def unknown_operator(x: FLOAT) -> FLOAT:
    return op.MatMull(x, x)  # error


def newer_operator(x: FLOAT) -> FLOAT:
    return op.Gelu(x)  # error


def missing_input(x: FLOAT) -> FLOAT:
    return op.Add(x)  # error


def too_many_inputs(x: FLOAT) -> FLOAT:
    return op.Relu(x, x)  # error


def missing_attribute(x: FLOAT) -> FLOAT:
    return op.Concat(x, x)  # error


def unknown_attribute(x: FLOAT) -> FLOAT:
    return op.Softmax(x, dim=1)  # error


def wrong_attribute(x: FLOAT) -> FLOAT:
    return op.Softmax(x, axis="1")  # error


def wrong_list(x: FLOAT) -> FLOAT:
    return op.Transpose(x, perm=1)  # error


def wrong_variable(x: FLOAT) -> DOUBLE:
    return x + 1  # error


def wrong_argument(x: FLOAT, k: INT64) -> FLOAT:
    return unknown_operator(k) + x  # error


def wrong_operand(x: FLOAT) -> FLOAT:
    return x + object()  # error


def unknown_method(x: FLOAT) -> FLOAT:
    return x.summ()  # error


def unknown_argument(x: FLOAT) -> FLOAT:
    return x.max(axes=1)  # error


def wrong_axis(x: FLOAT) -> FLOAT:
    return x.swapaxes("a", 1)  # error


@script()
def decorated(x: FLOAT, k: INT64) -> FLOAT:
    return x


def wrong_call(x: FLOAT) -> None:
    decorated(object(), 3)  # error


def wrong_option(model: object, x: object) -> object:
    return export(model, (x,), dynamic_shape={"x": {0: "n"}})  # error


def option_of_torch_onnx(model: object, x: object) -> object:
    return export(model, (x,), dynamic_axes={"x": {0: "n"}})  # error


def wrong_version(model: object, x: object) -> object:
    return export(model, (x,), opset_version="20")  # error
