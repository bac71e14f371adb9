"""Names, options and results of scripts that files written for onnxscript rely on."""

from __future__ import annotations

import numpy as np
import pytest

import onnxwright as ow
from onnxwright import FLOAT, INT64, Opset, script
from onnxwright import opset18 as op
from tests.harness.tables import each


@script(default_opset=op)
def alias(x: FLOAT["N"]):
    y = x
    return y


@script(default_opset=op)
def several(x: FLOAT["N"]):
    y = x
    return x, y, y, op.Neg(x)


@script(default_opset=op)
def through_branches(x: FLOAT["N"], flag: ow.BOOL[()]):
    if flag:
        y = x
    else:
        y = op.Neg(x)
    z = y
    return z, z


def test_a_returned_variable_names_the_output() -> None:
    proto = alias.to_function_proto()
    assert list(proto.output) == ["y"]
    assert [(node.op_type, list(node.output)) for node in proto.node] == [("Identity", ["y"])]
    assert list(several.to_function_proto().output) == ["x_1", "y", "y_1", "output_3"]
    model = several.to_model_proto()
    assert [v.name for v in model.graph.output] == ["x_1", "y", "y_1", "output_3"]
    x = np.array([1, -2], np.float32)
    for output, expected in zip(ow.run_model(model, [x]), (x, x, x, -x), strict=True):
        np.testing.assert_array_equal(output, expected)
    first, second = through_branches.to_function_proto().output
    assert first != second
    assert second.startswith("z")


def test_op_type_is_the_name_of_the_function() -> None:
    domain = Opset("my.domain", 2)

    @script(domain, op_type="Shown Name", producer_name="me")
    def plain(x: FLOAT["N"]) -> FLOAT["N"]:
        return op.Abs(x)

    @script()
    def caller(x: FLOAT["N"]) -> FLOAT["N"]:
        return plain(x)

    assert (plain.name, plain.__name__, plain.opset) == ("Shown Name", "plain", domain)
    assert plain.kwargs == {"producer_name": "me"}
    assert plain.func.__name__ == "plain"
    assert plain.to_function_proto().name == plain.op_signature.name == "Shown Name"
    assert caller.to_model_proto().graph.node[0].op_type == "Shown Name"
    assert script(op_type=None)(plain.func).name == "plain"


@each("name", ["", "  ", 42])
def test_a_name_is_a_text(name: object) -> None:
    with pytest.raises(ValueError, match="not empty"):
        script(op_type=name)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="given twice"):
        script(name="one", op_type="two")


@each("kind", [ow.evaluator.ORTEvaluator, ow.evaluator.ORTMixedEvaluator,
                                  ow.evaluator.OnnxReferenceRuntimeEvaluator])  # fmt: skip
def test_unknown_keywords_are_dropped_where_the_evaluator_says_so(kind: object) -> None:
    @script()
    def plus(x, y: float = 1.0):
        return op.Add(x, y)

    x = np.array(0, np.float32)
    with ow.evaluator.default_as(kind(ignore_unknown_function_kwargs=True)):
        assert plus(x, unknown=42) == 1.0
    with ow.evaluator.default_as(kind()), pytest.raises(TypeError, match="unknown"):
        plus(x, unknown=42)


def test_the_registry_of_tensor_types() -> None:
    registry = ow.onnx_types.tensor_type_registry
    assert registry[ow.DType.INT64] is INT64
    assert all(kind.dtype == dtype for dtype, kind in registry.items())
    assert "tensor_type_registry" in dir(ow.onnx_types)


@script()
def none_is_none(x: FLOAT["N"], bias: FLOAT["N"] = None):
    held = None
    if bias != None:  # noqa: E711 - as it is written in the wild
        x = x + 1
    if bias == None:  # noqa: E711
        x = x + 10
    if held == None:  # noqa: E711
        x = x + 100
    if None != x:  # noqa: E711
        x = x + 1000
    if [held] == [None]:
        x = x + 10000
    return x


def test_none_equals_none_and_nothing_else() -> None:
    x = np.zeros(1, np.float32)
    assert none_is_none(x) == [11110]
    (y,) = ow.run_model(none_is_none.to_model_proto(), [x])
    assert y == [11110]
    assert none_is_none(x, x) == [11101]
    model = none_is_none.to_model_proto(input_types={"x": FLOAT["N"], "bias": FLOAT["N"]})
    assert ow.run_model(model, [x, x])[0] == [11101]


@script()
def none_has_no_order(x: FLOAT["N"], bias: FLOAT["N"] = None):
    if bias < 1:
        x = x + 1
    return x


def test_none_has_no_order() -> None:
    with pytest.raises((ow.ScriptError, TypeError), match=r"NoneType|None"):
        none_has_no_order.to_model_proto()
