"""Functions that are named like operators run in every way; ONNX Runtime would end the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import parser

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from tests.harness.tables import each

X = np.array([1.0, -2.0], np.float32)


@script()
def Add(x: FLOAT["N"]) -> FLOAT["N"]:  # noqa: N802 - the name is what is tested
    return op.Neg(x)


@script()
def Gather(x: FLOAT["N"]) -> FLOAT["N"]:  # noqa: N802
    return Add(x) * 2.0


@script()
def Mul(x: FLOAT["N"]) -> FLOAT["N"]:  # noqa: N802
    y = x + 1
    if x[0] > 0:
        y = Gather(x)
    return Add(y)


def _only(outputs: dict[str, Any]) -> Any:
    (output,) = outputs.values()
    return output


DOORS: dict[str, Callable[[Any], Any]] = {
    "compile": lambda f: f.compile()(X),
    "run_model": lambda f: ow.run_model(f.to_model_proto(), [X])[0],
    "bytes": lambda f: ow.run_model(f.to_model_proto().SerializeToString(), [X])[0],
    "CompiledModel": lambda f: ow.CompiledModel(f.to_model_proto())(X),
    "builder": lambda f: _only(ow.GraphBuilder.from_model(f.to_model_proto()).run({"x": X})),
    "eager": lambda f: f(X),
}


@each("door", DOORS)
@each("function", [Add, Gather, Mul])
def test_a_script_named_like_an_operator_runs(door: str, function: Any) -> None:
    expected = {"Add": -X, "Gather": -X * 2, "Mul": X * 2}[function.name]
    output = DOORS[door](function)
    np.testing.assert_allclose(np.asarray(output).reshape(-1), expected)


def _model(name: str, domain: str) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 18, "{domain}" : 1]> '
        f"g (float[2] x) => (float[2] y) {{ m = {domain}.{name}(x) y = Sub(m, x) }} "
        f'<domain: "{domain}", opset_import: ["" : 18]> {name} (a) => (r) {{ r = Neg(a) }}'
    )


@each("name", ["Transpose", "Concat", "Scan", "FastGelu", "ImageScaler", "Cast"])
def test_models_from_elsewhere_run(name: str) -> None:
    model = _model(name, "mine")
    before = model.SerializeToString()
    np.testing.assert_array_equal(ow.run_model(model, [X])[0], -2 * X)
    assert model.SerializeToString() == before
    assert "y" in str(ow.debug(model, {"x": X}))


def test_two_models_are_compared() -> None:
    """`first_divergence` runs both, each function as a session of its own."""
    first, second = _model("Gather", "mine"), _model("Mul", "mine")
    second.functions[0].node[0].op_type = "Abs"
    assert ow.first_divergence(first, second, {"x": X}).name == "r"
