"""Inputs that contradict each other: refused where somebody writes them, kept in foreign models."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from tests.harness.tables import each

# The branch is never taken, and its convolution has weights for two channels.
_UNTAKEN = """
<ir_version: 8, opset_import: ["" : 18]>
g (bool c, float[1,3,4,4] x) => (float[N,M,H,W] y) <float[1,2,1,1] w = {1, 1}>
{
    y = If (c) <
        then_branch = t () => (float[N,M,H,W] a) { a = Conv(x, w) },
        else_branch = e () => (float[N,M,H,W] b) { b = Relu(x) }
    >
}
"""


def test_a_script_names_the_line() -> None:
    @script()
    def f(x: FLOAT["N", 3, 8, 8], w: FLOAT[4, 2, 3, 3]):  # type: ignore[no-untyped-def]
        h = op.Relu(x)
        return op.Conv(h, w)

    with pytest.raises(ow.errors.ScriptTypeError, match="weights for 3 channels, got 2") as info:
        f.to_model_proto()
    (diagnostic,) = info.value.diagnostics
    assert diagnostic.code == "OW531"
    assert diagnostic.span is not None
    assert "op.Conv(h, w)" in str(info.value)


def test_a_graph_builder_refuses() -> None:
    g = ow.GraphBuilder(opset=18)
    x = g.input("x", FLOAT[3, 4])
    with pytest.raises(ow.errors.ScriptTypeError, match=r"elements of \[3, 4\], got \[5, 2\]"):
        g.op.Reshape(x, np.array([5, 2]))


@each("tool", ["optimize", "up", "down", "from_model"])
def test_a_branch_that_is_never_taken_is_kept(tool: str) -> None:
    model = onnx.parser.parse_model(_UNTAKEN)
    new_model = {
        "optimize": lambda: ow.optimize(model),
        "up": lambda: ow.convert_version(model, 21),
        "down": lambda: ow.convert_version(model, 15),
        "from_model": lambda: ow.GraphBuilder.from_model(model).to_model_proto(),
    }[tool]()
    x = np.ones((1, 3, 4, 4), np.float32)
    (y,) = ow.run_model(new_model, {"c": np.array(False), "x": x})
    np.testing.assert_array_equal(np.asarray(y), x)
