"""What type checkers find; each marked line is an error, and no other."""

import numpy as np

from onnxwright import GraphBuilder, export, rule, script, testing, torch_onnx
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


@script
def along(x: FLOAT, axis: int = 1, mode: str = "max") -> FLOAT:
    return x


def wrong_attribute_of_a_script(x: FLOAT) -> FLOAT:
    return along(x, axis="one")  # error


def unknown_attribute_of_a_script(x: FLOAT) -> FLOAT:
    return along(x, axes=1)  # error


def wrong_attribute_beside_an_array() -> object:
    return along(np.ones(3), axis="one")  # error


def unknown_attribute_beside_an_array() -> object:
    return along(np.ones(3), axes=1)  # error


def text_attribute_is_no_number() -> object:
    return along([1.0], mode=3)  # error


@script(producer="me")  # error
def unknown_option_of_script(x: FLOAT) -> FLOAT:
    return x


def unknown_option_of_compile() -> object:
    return along.compile(provider=["CPUExecutionProvider"])  # error


def unknown_option_of_a_rule() -> object:
    return rule(levels="fast")  # error


def unknown_part(a: object) -> None:
    testing.assert_isomorphic(a, a, docs=False)  # error


def operator_with_too_many_inputs() -> object:
    return GraphBuilder(opset=18).op.Relu(1, 2)  # error


def operator_that_is_newer() -> object:
    return GraphBuilder(opset=18).op.Gelu(1)  # error


def operator_that_is_newer_than_the_object() -> object:
    return GraphBuilder(opset=op).op.Gelu(1)  # error


def operator_that_was_removed() -> object:
    return GraphBuilder().op.MatMull(1, 2)  # error


def attribute_of_a_built_operator() -> object:
    return GraphBuilder(opset=13).op.Softmax(1, axis="1")  # error


def version_of_a_builder() -> object:
    return GraphBuilder(opset="18")  # error


def unknown_argument_in_torchs_words(model: object, x: object) -> object:
    return torch_onnx.export(model, (x,), dynamic_shape={"x": {0: "n"}})  # error
