"""Scripts whose operators come from several opset versions: one version, the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import version_converter

from onnxwright import FLOAT, script
from onnxwright import opset9 as op9
from onnxwright import opset11 as op11
from onnxwright import opset13 as op13
from onnxwright import opset18 as op18
from onnxwright import opset20 as op20
from onnxwright import opset23 as op23
from onnxwright.eager.ort.compiled_models import run_model
from onnxwright.errors import ScriptValueError
from tests.harness.tables import each

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)


@script()
def softmax_of_rows(x: FLOAT["N", 3, 4]) -> FLOAT["N", 3, 4]:
    return op9.Softmax(x, axis=1)


@script()
def gelu(x: FLOAT["N", 3, 4]) -> FLOAT["N", 3, 4]:
    return op20.Gelu(x, approximate="tanh")


@script()
def rms(x: FLOAT["N", 3, 4]) -> FLOAT["N", 3, 4]:
    return op23.RMSNormalization(x, np.ones(4, np.float32))


@script()
def largest(x: FLOAT["N", 3, 4]) -> FLOAT["N"]:
    return op18.ReduceMax(x, [1, 2], keepdims=0)


@script()
def mean(x: FLOAT["N", 3, 4]) -> FLOAT["N", 4]:
    return op13.ReduceMean(x, axes=[1], keepdims=0) + op18.Abs(
        op11.ReduceMax(x, axes=[1], keepdims=0)
    )


@script()
def inside_a_branch(x: FLOAT["N", 3, 4]) -> FLOAT["N", 4]:
    if op18.ReduceSum(x, keepdims=0) > 0:
        y = op13.ReduceMean(x, axes=[1], keepdims=0)
    else:
        y = op13.ReduceMin(x, axes=[1], keepdims=0)
    return y


@script()
def unknown_types(x):  # type: ignore[no-untyped-def] # nothing is known of its input
    return op18.Abs(op11.Squeeze(x, axes=[0]))


@script()
def axis_of_caller(x: FLOAT["N", 3, 4], axis: int = 1) -> FLOAT["N", 3, 4]:
    return op9.Softmax(x, axis=axis)


@script()
def axis_and_another(x: FLOAT["N", 3, 4], axis: int = 1) -> FLOAT["N", 3, 4]:
    return op18.Abs(op9.Softmax(x, axis=axis))


# A script, the version of the model, its operators.
CASES: list[tuple[Any, int, list[str]]] = [
    (softmax_of_rows, 18, ["Flatten", "Softmax", "Reshape"]),
    (gelu, 17, ["Pow", "Mul", "Sum", "Mul", "Tanh", "Sum", "Mul", "Mul"]),
    (rms, 13, ["Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]),
    (largest, 11, ["ReduceMax"]),
    (mean, 18, ["ReduceMean", "ReduceMax", "Abs", "Add"]),
    (mean, 11, ["ReduceMean", "ReduceMax", "Abs", "Add"]),
    (inside_a_branch, 18, ["ReduceSum", "Greater", "If"]),
    (inside_a_branch, 11, ["ReduceSum", "Greater", "If"]),
]


@each(("function", "version", "nodes"), CASES)
def test_the_model_has_one_version_and_the_same_results(
    function: Any, version: int, nodes: list[str]
) -> None:
    model = function.to_model_proto(opset_version=version)
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == version
    assert [n.op_type for n in model.graph.node if n.op_type not in ("Constant", "Shape")] == nodes
    expected = function(X)
    output = run_model(model, [X])[0]
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


@each(("function", "version"), [(gelu, 17), (rms, 13), (mean, 11)])
def test_onnx_own_converter_cannot_do_these(function: Any, version: int) -> None:
    """Why the compiler has its own conversion of one call."""
    newest = function.to_model_proto()
    with pytest.raises(RuntimeError):
        version_converter.convert_version(newest, version)


def test_a_call_is_converted_without_knowing_its_types() -> None:
    proto = unknown_types.to_function_proto()
    assert [n.op_type for n in proto.node] == ["Constant", "Squeeze", "Abs"]
    assert proto.opset_import[0].version == 18


def test_a_parameter_that_the_conversion_must_know() -> None:
    assert axis_of_caller.to_model_proto(opset_version=18)
    with pytest.raises(ScriptValueError, match="`axis` is a parameter of the function"):
        axis_and_another.to_function_proto()
