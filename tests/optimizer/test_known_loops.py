"""Loops that run once or not at all."""

from __future__ import annotations

import onnx
import pytest

import onnxwright as ow
from onnxwright.testing import first_difference

BODY = """body (int64 i, bool c, float[2] s) => (bool c2, float[2] s2, float[2] row)
    { c2 = Identity(c)  f = Cast <to: int = 1> (i)  t = Add(s, x)  s2 = Sub(t, f)
      row = Mul(s2, s) }"""
PLAIN = """body (int64 i, bool c, float[2] s) => (bool c2, float[2] s2)
    { c2 = Identity(c)  s2 = Add(s, x) }"""
SWAP = """body (int64 i, bool c, float[2] s, float[2] u) => (bool c2, float[2] s2, float[2] u2)
    { c2 = Identity(c)  s2 = Identity(u)  u2 = Identity(s) }"""


def optimized(count: int, going: int, call: str, outputs: str, opset: int = 18) -> list[str]:
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[2] x, float[2] z) => ({outputs}) '
        f"<int64 n = {{{count}}}, bool b = {{{going}}}> {{ {call} }}"
    )
    new_model = ow.optimize(model)
    onnx.checker.check_model(new_model, full_check=True)
    assert [v.name for v in new_model.graph.input] == ["x", "z"]
    assert first_difference(model, new_model) is None
    return [n.op_type for n in new_model.graph.node]


@pytest.mark.parametrize(
    ("count", "going", "expected"),
    [(1, 1, ["Add"]), (0, 1, ["Identity"]), (-2, 1, ["Identity"]), (3, 0, ["Identity"]),
     (1, 0, ["Identity"]), (2, 1, ["Add", "Add"]), (3, 1, ["Loop"])],
)  # fmt: skip
def test_counts(count: int, going: int, expected: list[str]) -> None:
    call = f"y = Loop <body: graph = {PLAIN}> (n, b, z)"
    assert optimized(count, going, call, "float[2] y") == expected


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_rows_that_are_stacked(opset: int) -> None:
    call = f"y, rows = Loop <body: graph = {BODY}> (n, b, z)"
    operators = optimized(1, 1, call, "float[2] y, float[K, 2] rows", opset)
    assert "Loop" not in operators
    assert "Unsqueeze" in operators
    assert "Loop" in optimized(0, 1, call, "float[2] y, float[K, 2] rows", opset)


def test_values_that_are_passed_on() -> None:
    call = f"y, w = Loop <body: graph = {SWAP}> (n, b, x, z)"
    assert optimized(1, 1, call, "float[2] y, float[2] w") == ["Identity", "Identity"]


def test_without_a_condition_or_without_a_count() -> None:
    call = f'y = Loop <body: graph = {PLAIN}> (n, "", z)'
    assert optimized(1, 1, call, "float[2] y") == ["Add"]
    assert optimized(1, 0, f'y = Loop <body: graph = {PLAIN}> ("", b, z)', "float[2] y") == [
        "Identity"
    ]


SUMS = """body (int64 i, bool c, float[2] s) => (bool c2, float[2] s2)
    { c2 = Identity(c)  f = Cast <to: int = 1> (i)  g = Mul(f, h)  k = Sin(g)  s2 = Add(s, k) }"""


def test_iterations_that_fold() -> None:
    call = f"""h = Constant <value_float: float = 0.5> ()
        y = Loop <body: graph = {SUMS}> (n, b, x)"""
    assert optimized(4, 1, call, "float[2] y") == ["Add"] * 4
    assert optimized(9, 1, call, "float[2] y") == ["Loop"]


LIST = """body (int64 i, bool c, seq(float[2]) s) => (bool c2, seq(float[2]) s2)
    { c2 = Identity(c)  s2 = SequenceInsert(s, x) }"""


def test_lists_that_are_built() -> None:
    call = f"""e = SequenceEmpty()  l = Loop <body: graph = {LIST}> (n, b, e)
        y = ConcatFromSequence <axis: int = 0> (l)"""
    assert optimized(2, 1, call, "float[K] y", 18)[-1:] == ["Concat"]


UNTIL = """body (int64 i, bool c, float[2] s) => (bool c2, float[2] s2)
    { two = Constant <value: tensor = int64 {0}> ()  c2 = Less(i, two)  s2 = Add(s, x) }"""


def test_a_condition_that_is_known_in_each_iteration() -> None:
    call = f"y = Loop <body: graph = {UNTIL}> (n, b, z)"
    assert optimized(5, 1, call, "float[2] y") == ["Add"]


WHILE = """body (int64 i, bool c, float[2] s) => (bool c2, float[2] s2)
    { m = ReduceMax <keepdims: int = 0> (s)  six = Constant <value: tensor = float {6}> ()
      c2 = Less(m, six)  s2 = Add(s, x) }"""


def test_a_condition_that_is_not_known() -> None:
    call = f"y = Loop <body: graph = {WHILE}> (n, b, z)"
    assert optimized(2, 1, call, "float[2] y") == ["Loop"]


@pytest.mark.parametrize(("length", "expected"), [(1, "Squeeze Add"), (2, "Scan")])
def test_scans_of_length_one(length: int, expected: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
        g (float[2] z, float[{length}, 2] xs) => (float[2] y) {{
        y = Scan <num_scan_inputs: int = 1, body: graph = body (float[2] s, float[2] x) =>
            (float[2] t) {{ t = Add(s, x) }}> (z, xs) }}"""
    model = onnx.parser.parse_model(text)
    new_model = ow.optimize(model)
    assert first_difference(model, new_model) is None
    assert [n.op_type for n in new_model.graph.node] == expected.split()
