"""InstanceNormalization and GroupNormalization written out, as models have them."""

from __future__ import annotations

import onnx
import pytest

import onnxwright as ow
from onnxwright.testing import first_difference

WEIGHTS = "<float[4, 1, 1] w = {0.5, -1.0, 2.0, 1.5}, float[4, 1, 1] c = {1.0, 2.0, 3.0, 4.0}>"
GROUPS = "<float[4, 1, 1] w = {0.5, -1.0, 2.0, 1.5}, float[4, 1, 1] c = {1.0, 2.0, 3.0, 4.0}, \
float[2] one = {1.0, 1.0}, float[2] zero = {0.0, 0.0}>"
CENTERED = """axes = Constant <value_ints: ints = [{axes}]> ()
eps = Constant <value_float: float = 0.001> ()  two = Constant <value_float: float = 2.0> ()
unit = Constant <value_float: float = 1.0> ()
m = ReduceMean({x}, axes)  d = Sub({x}, m)  {square}  v = ReduceMean(p, axes)
e = Add(eps, v)  r = Sqrt(e)  {divide} """
SQUARES = ("p = Mul(d, d)", "p = Pow(d, two)")
DIVISIONS = (
    "n = Div(d, r)",
    "q = Reciprocal(r)  n = Mul(q, d)",
    "q = Div(unit, r)  n = Mul(d, q)",
)
GROUPED = "shape = Constant <value_ints: ints = [0, 2, -1]> ()  g = Reshape(x, shape)  "
AFFINE = "f = Mul({}, w)  y = Add(f, c)"

ASKED = "group_normalization"


def optimized(version: int, weights: str, body: str, **options: str) -> list[str]:
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : {version}]>\n'
        f"g (float[N, 4, H, 6] x) => (float[N, 4, H, 6] y) {weights} {{ {body} }}"
    )
    new_model = ow.optimize(model, **options)
    assert first_difference(model, new_model) is None
    return [n.op_type for n in new_model.graph.node]


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("divide", DIVISIONS)
def test_instance_normalization(square: str, divide: str) -> None:
    body = CENTERED.format(x="x", axes="2, 3", square=square, divide=divide)
    assert optimized(18, WEIGHTS, body + AFFINE.format("n")) == ["InstanceNormalization"]
    plain = body.replace("n = ", "y = ") if "q =" not in divide else body.replace("  n =", "  y =")
    assert optimized(18, "", plain) == ["InstanceNormalization"]


def test_over_other_axes_it_stays() -> None:
    for axes in ("1, 2", "3", "1, 2, 3"):
        body = CENTERED.format(x="x", axes=axes, square=SQUARES[0], divide=DIVISIONS[0])
        operators = optimized(18, WEIGHTS, body + AFFINE.format("n"))
        assert "InstanceNormalization" not in operators


@pytest.mark.parametrize(
    "back", ["s = Shape(x)", "s = Constant <value_ints: ints = [0, 4, -1, 6]> ()"]
)
@pytest.mark.parametrize("divide", DIVISIONS)
def test_group_normalization(divide: str, back: str) -> None:
    body = CENTERED.format(x="g", axes="2", square=SQUARES[0], divide=divide)
    body = GROUPED + body + back + "  t = Reshape(n, s)  " + AFFINE.format("t")
    assert optimized(21, GROUPS, body, rules=ASKED) == ["GroupNormalization"]
    kernel = ["Reshape", "InstanceNormalization", "Reshape", "Mul", "Add"]
    for version, target in ((18, "any"), (21, "any"), (21, "onnxruntime")):
        operators = optimized(version, GROUPS, body, target=target)
        assert [o for o in operators if o != "Shape"] == kernel


def test_group_normalization_of_torch() -> None:
    body = GROUPED + (
        "i = InstanceNormalization <epsilon: float = 0.001> (g, one, zero)  s = Shape(x)  "
        "t = Reshape(i, s)  "
    )
    for whole in (body + AFFINE.format("t"), body.replace("  t =", "  y =")):
        assert optimized(21, GROUPS, whole, rules=ASKED) == ["GroupNormalization"]


def test_groups_that_cut_channels_or_mix_images_stay() -> None:
    for shape in ("0, 8, -1", "1, 2, -1"):
        body = GROUPED.replace("0, 2, -1", shape) + (
            "i = InstanceNormalization(g, one, zero)  s = Shape(x)  t = Reshape(i, s)  "
        )
        count = int(shape.split(", ")[1])
        ones = ", ".join(["1.0"] * count)
        weights = (
            WEIGHTS[:-1] + f", float[{count}] one = {{{ones}}}, float[{count}] zero = {{{ones}}}>"
        )
        operators = optimized(21, weights, body + AFFINE.format("t"), rules=ASKED)
        assert "GroupNormalization" not in operators


def test_an_output_with_dimensions_of_other_names() -> None:
    body = GROUPED + (
        "i = InstanceNormalization <epsilon: float = 0.001> (g, one, zero)  s = Shape(x)  "
        "t = Reshape(i, s)  " + AFFINE.format("t")
    )
    text = (
        '<ir_version: 10, opset_import: ["" : 21]>\n'
        f"g (float[N, 4, H, 6] x) => (float[batch, 4, height, 6] y) {GROUPS} {{ {body} }}"
    )
    new_model = ow.optimize(onnx.parser.parse_model(text), rules=ASKED)
    assert [n.op_type for n in new_model.graph.node] == ["GroupNormalization"]
    assert new_model.graph.output == onnx.parser.parse_model(text).graph.output
