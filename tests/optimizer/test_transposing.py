"""Transposes that are moved until they meet, and those that have to stay."""

from __future__ import annotations

import onnx
import pytest

import onnxwright as ow
from onnxwright.testing import first_difference

IN = "t = Transpose <perm: ints = [0, 2, 3, 1]> (x)  "
OUT = " y = Transpose <perm: ints = [0, 3, 1, 2]> (e)"

CASES = {
    "factor of channels": (f"{IN} e = Mul(t, w) {OUT}", ["Mul"]),
    "constant on the left": (f"{IN} e = Sub(w, t) {OUT}", ["Sub"]),
    "residual connection": (
        (f"{IN} a = Transpose <perm: ints = [0, 3, 1, 2]> (t)  r = Relu(x)  s = Sigmoid(t)  "
        "c = Transpose <perm: ints = [0, 3, 1, 2]> (s)  d = Add(c, r)  "
        "e = Transpose <perm: ints = [0, 2, 3, 1]> (d)"
        "  f = Tanh(e)  y = Transpose <perm: ints = [0, 3, 1, 2]> (f)"),
        ["Relu", "Sigmoid", "Add", "Tanh"]),
    "mean over places": (f"{IN} m = ReduceMean(t, places)  e = Mul(t, m) {OUT}",
                         ["ReduceMean", "Mul"]),
}  # fmt: skip


def operators(body: str, result: str = "float[N, 3, H, 5] y") -> list[str]:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 18]>\n'
        f"g (float[N, 3, H, 5] x) => ({result})"
        "<float[3] w = {0.5, -2.0, 3.0}, int64[2] places = {1, 2}>"
        f"{{ {body} }}"
    )
    optimized = ow.optimize(model)
    assert first_difference(model, optimized) is None
    return [n.op_type for n in optimized.graph.node]


@pytest.mark.parametrize("name", CASES)
def test_between_transposes(name: str) -> None:
    body, expected = CASES[name]
    assert sorted(operators(body)) == sorted(expected)


def test_pooling_of_channels_last_needs_none() -> None:
    mean = f"{IN} y = ReduceMean <keepdims: int = 0> (t, places)"
    assert operators(mean, "float[N, 3] y") == ["ReduceMean"]
    pair = f"{IN} a = ReduceMax(t, places)  y = Transpose <perm: ints = [0, 3, 1, 2]> (a)"
    assert operators(pair, "float[N, 3, 1, 1] y") == ["ReduceMax"]


def test_a_sum_that_is_read_twice_stays() -> None:
    body = (
        f"{IN} r = Relu(x)  u = Transpose <perm: ints = [0, 2, 3, 1]> (r)  e = Add(t, u)  "
        "z = Tanh(e)  y = Transpose <perm: ints = [0, 3, 1, 2]> (e)"
    )
    assert len(operators(body, "float[N, 3, H, 5] y, float[N, H, 5, 3] z")) <= 4


def test_reductions_with_axes_as_attribute() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[N, 3, H, 5] x) => (float[N, 3] y)'
        f"{{ {IN} y = ReduceMean <axes: ints = [1, 2], keepdims: int = 0> (t) }}"
    )
    optimized = ow.optimize(model)
    assert [n.op_type for n in optimized.graph.node] == ["ReduceMean"]
    assert first_difference(model, optimized) is None
