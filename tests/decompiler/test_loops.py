# ruff: noqa: ISC004 - the text of a graph runs over several lines
"""Loops are written as `for` and `while` where they come back so, and read as they were written."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from onnxwright import FLOAT, INT64, script, to_script
from onnxwright import opset18 as op
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.dsl.verbatim import Details
from onnxwright.testing import assert_isomorphic

HEAD = '<ir_version: 9, opset_import: ["" : 18]>\n'


@script()
def doubled(limit: FLOAT[()]) -> FLOAT[()]:
    value = op.CastLike(1.0, limit)
    while value <= limit:
        value = value * 2.0
    return value


@script()
def powers(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    y = op.Relu(x)
    for _ in range(n):
        y = y * x
    return y


@script()
def counted(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    total = op.Relu(x)
    for i in range(n):
        total = op.Relu(total + op.CastLike(i, x))
        if op.ReduceMax(total, keepdims=0) > 100.0:
            break
    return total


@script()
def nested(x: FLOAT["N"], n: INT64[()]) -> FLOAT["N"]:
    y = op.Relu(x)
    for _ in range(n):
        for _ in range(3):
            y = y + x
        y = op.Tanh(y)
    return y


@script()
def swapped(x: FLOAT["N"], z: FLOAT["N"], n: INT64[()]):
    a = op.Relu(x)
    b = op.Relu(z)
    for _ in range(n):
        a, b = b, a
    return a, b


@script()
def decided(x: FLOAT["N"], n: INT64[()]):
    y = op.Relu(x)
    for i in range(n):
        if i < 3:
            y = y + x
        else:
            y = y - x
    return y


WRITTEN: list[Any] = [doubled, powers, counted, nested, swapped, decided]


def body(source: str, name: str) -> list[str]:
    """The statements of a function."""
    text = source.split(f"def {name}(")[1].split("\n\n\n")[0]
    return [line.strip() for line in text.splitlines()[1:] if line.strip()]


@pytest.mark.parametrize("function", WRITTEN, ids=lambda f: f.name)
def test_a_loop_comes_back_as_it_was_written(function: Any) -> None:
    """The model of a script is written as the script was, line for line."""
    # A `break` is the Loop's own condition only where it is said to be.
    exact = function is counted
    model = function.to_model_proto(details=Details()) if exact else function.to_model_proto()
    reasons: list[str] = []
    source = to_script(model, explain=reasons)
    assert reasons == []
    assert_isomorphic(model, rebuild(source), node_names=True, subgraph_names=True)
    assert to_script(rebuild(source)) == source
    expected = [line.strip() for line in function.source.splitlines()[2:] if line.strip()]
    assert body(source, function.name) == expected


# Loops as other tools make them, and a line that their Python holds.
LOOPS = {
    "passed on": (
        "g (int64 n, float[N] x) => (float[N] y) { t = Constant<value = bool {1}>() "
        "y = Loop(n, t, x)<body = b (int64 i, bool c, float[N] v) => (bool c, float[N] w) "
        "{ w = Neg(v) }> }",
        "for _ in range(n):",
    ),
    "copied": (
        "g (int64 n, float[N] x) => (float[N] y) { "
        "y = Loop(n, , x)<body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) "
        "{ d = Identity(c) w = Neg(v) }> }",
        "for _ in range(n):",
    ),
    "always true": (
        "g (int64 n, float[N] x) => (float[N] y) { "
        "y = Loop(n, , x)<body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) "
        "{ d = Constant<value = bool {1}>() w = Neg(v) }> }",
        "for _ in range(n):",
    ),
    "given condition": (
        "g (int64 n, bool c0, float[N] x) => (float[N] y) { "
        "y = Loop(n, c0, x)<body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) "
        "{ w = Neg(v) s = ReduceSum<keepdims = 0>(w) d = Cast<to = 9>(s) }> }",
        "if not c0:",
    ),
    "no count": (
        "g (bool c0, float[N] x) => (float[N] y) { "
        "y = Loop(, c0, x)<body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) "
        "{ w = Neg(v) s = ReduceSum<keepdims = 0>(w) d = Cast<to = 9>(s) }> }",
        "while c0:",
    ),
    "reads its condition": (
        "g (bool c0, float[N] x) => (float[N] y) { "
        "y = Loop(, c0, x)<body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) "
        "{ w = Where(c, v, x) d = Not(c) }> }",
        "while c0:",
    ),
    "carries what it leaves alone": (
        "g (int64 n, float[N] x, float[N] k) => (float[N] y, float[N] z) { y, z = Loop(n, , x, k)"
        "<body = b (int64 i, bool c, float[N] v, float[N] u) => (bool c, float[N] w, float[N] u) "
        "{ w = Add(v, u) }> }",
        "for _ in range(n):",
    ),
    "two of one start": (
        "g (int64 n, float[N] x) => (float[N] y, float[N] z) { y, z = Loop(n, , x, x)"
        "<body = b (int64 i, bool c, float[N] v, float[N] u) => (bool c, float[N] u, float[N] w) "
        "{ w = Add(v, u) }> }",
        "for _ in range(n):",
    ),
    "counts and reads its condition": (
        "g (int64 n, float[N] x) => (float[N] y) { "
        "y = Loop(n, , x)<body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) "
        "{ d = Not(c) w = Neg(v) }> }",
        "@graph()",
    ),
    "reads its condition in a branch": (
        "g (int64 n, float[N] x) => (float[N] y) { "
        "y = Loop(n, , x)<body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) "
        "{ d = Identity(c) w = If(d)<then_branch = t () => (float[N] p) { p = Where(c, v, x) },"
        " else_branch = e () => (float[N] q) { q = Neg(v) }> }> }",
        "@graph()",
    ),
    "stacks": (
        "g (int64 n, float[N] x) => (float[N] y, float[M, N] z) { y, z = Loop(n, , x)"
        "<body = b (int64 i, bool c, float[N] v) => (bool c, float[N] w, float[N] w) "
        "{ w = Neg(v) }> }",
        "@graph()",
    ),
    "carries nothing": (
        "g (int64 n, float[N] x) => (float[M, N] z) { z = Loop(n)<body = b (int64 i, bool c)"
        " => (bool c, float[N] w) { w = Neg(x) }> }",
        "@graph()",
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_any_loop_comes_back(name: str) -> None:
    text, line = LOOPS[name]
    model = parser.parse_model(HEAD + text)
    reasons: list[str] = []
    source = to_script(model, explain=reasons)
    assert line in source
    assert (line == "@graph()") == bool(reasons)
    rebuilt: onnx.ModelProto = rebuild(source)  # type: ignore[assignment]
    assert_isomorphic(model, rebuilt, subgraph_names=True)
    loops = [node for node in rebuilt.graph.node if node.op_type == "Loop"]
    assert all(len(node.input) >= 2 for node in loops)  # absent ones are listed, as runtimes want
    assert to_script(rebuild(source)) == source


def test_a_written_loop_runs_line_by_line() -> None:
    """The written function is a script: eagerly it does what the model does."""
    source = to_script(counted.to_model_proto())
    space: dict[str, Any] = {"__name__": "written"}
    exec(source, space)  # noqa: S102 - text written just now
    x = np.array([1.0, 2.0], np.float32)
    np.testing.assert_array_equal(space["counted"](x, np.int64(4)), counted(x, np.int64(4)))


def test_details_go_by_place_where_there_is_no_name() -> None:
    """Names, metadata and types of nodes inside expressions are kept, and nothing is in the way."""
    model = doubled.to_model_proto()
    assert [p.value for p in model.graph.node[1].metadata_props]
    source = to_script(model)
    assert "numbered=True" in source
    assert "origins=[" in source
    assert "onnxwright.origin" not in source
    rebuilt: onnx.ModelProto = rebuild(source)  # type: ignore[assignment]
    for before, after in zip(model.graph.node, rebuilt.graph.node, strict=True):
        assert before.name == after.name
        assert before.metadata_props == after.metadata_props


def test_shared_constants_are_numbers() -> None:
    @script()
    def twice(x: FLOAT["N"]) -> FLOAT["N"]:
        y = x * 2.0 + 2.0
        return op.Exp(y) - 2.0

    model = twice.to_model_proto()
    assert sum(n.op_type == "Constant" for n in model.graph.node) == 1
    source = to_script(model)
    assert "y = x * 2.0 + 2.0" in source
    assert "return op.Exp(y) - 2.0" in source
    assert "shared=True" in source
    assert_isomorphic(model, rebuild(source))


def test_details_of_an_expression_may_be_given_by_place() -> None:
    @script()
    def small(x: FLOAT["N"]):
        return op.Relu(-x)

    details = Details(names={"#0": "minus", "#1": "y"}, node_names={"#0": "first"})
    graph = small.to_model_proto(details=details).graph
    assert [n.output[0] for n in graph.node] == ["minus", "y"]
    assert [n.name for n in graph.node] == ["first", ""]
