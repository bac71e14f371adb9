"""Traces of scripts, runs of models node by node, and where two of them part."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from onnxwright.eager.debugging.divergence import difference
from onnxwright.eager.debugging.value_stats import facts_of
from onnxwright.errors import EagerError
from tests.harness.tables import each

X = np.array([1.0, 4.0], np.float32)


@script
def root(x: FLOAT["N"]) -> FLOAT["N"]:
    y = op.Sqrt(x)
    return y


@script
def climb(x: FLOAT["N"], n: FLOAT["N"]) -> FLOAT["N"]:
    total = x + 1.0
    for i in range(2):  # noqa: B007 - its name is part of the trace
        total = root(total) - n
    return op.Log(total)


# -- traces --------------------------------------------------------------------------------------


def test_trace_shows_each_line_with_its_value() -> None:
    seen = ow.trace(climb, X, X * 0)
    names = [(line.depth, line.name) for line in seen]
    assert names == [
        (0, "x"), (0, "n"), (0, "total"),
        (0, "i"), (1, "x"), (1, "y"), (1, "return"), (0, "total"),
        (0, "i"), (1, "x"), (1, "y"), (1, "return"), (0, "total"),
        (0, "return"),
    ]  # fmt: skip
    first = seen.lines[2]
    assert first.source.strip() == "total = x + 1.0"
    assert (first.facts.type, first.facts.low, first.facts.high) == ("FLOAT[2]", 2.0, 5.0)
    assert first.file == __file__
    assert first.seconds > 0
    assert np.allclose(seen.result, np.log((X + 1) ** 0.25))
    assert seen["y"].depth == 1
    with pytest.raises(KeyError, match="total"):
        seen["nope"]


def test_trace_is_table_html_and_data() -> None:
    seen = ow.trace(climb, X, X)
    lines = str(seen).splitlines()
    assert lines[0].split() == ["line", "source", "name", "type", "min", "max", "mean", "nan",
                                "inf", "time"]  # fmt: skip
    assert len(lines) == len(seen) + 1
    html = seen._repr_html_()
    assert html.count("<tr") == len(seen) + 1
    assert "FLOAT[&quot;N&quot;]" in html
    rows = seen.as_dicts()
    assert rows[2]["name"] == "total"
    assert rows[2]["mean"] == 3.5
    assert all(line.value is None for line in seen)
    assert ow.trace(climb, X, X, keep=True)["total"].value is not None


@pytest.mark.parametrize("stop_on", ["nan", "bad"])
def test_trace_stops_at_the_first_bad_line(stop_on: str) -> None:
    with pytest.raises(EagerError, match="OW623") as caught:
        ow.trace(climb, X, X * 3, stop_on=stop_on)
    d = caught.value.diagnostic
    assert (d.name, d.what) == ("y", "NaN")
    assert "y = op.Sqrt(x)" in str(caught.value)
    assert caught.value.trace.lines[-1].name == "y"
    ow.trace(climb, X, X * 3, stop_on="inf")


def test_trace_gives_the_debugger_its_tracer_back() -> None:
    def mine(*_: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(mine)
    try:
        ow.trace(root, X)
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)


def test_trace_of_a_plain_function() -> None:
    def f(x: Any) -> Any:
        a, b = op.Split(x, num_outputs=2)
        return a, b

    assert [line.name for line in ow.trace(f, X)] == ["x", "a", "b", "return[0]", "return[1]"]


def test_bad_options_are_told() -> None:
    with pytest.raises(EagerError, match="OW625"):
        ow.trace(root, X, stop_on="zero")
    with pytest.raises(EagerError, match="OW625"):
        ow.debug(MODEL, [X], keep="some")


# -- models --------------------------------------------------------------------------------------


def parsed(body: str, inputs: str = "float[N] x") -> onnx.ModelProto:
    head = f'<ir_version: 10, opset_import: ["" : 18]> g ({inputs}) => (float[N] y)'
    return onnx.parser.parse_model(f"{head} {{ {body} }}")


MODEL = parsed("a = Neg(x)  b = Abs(a)  c = Add(a, b)  y = Exp(c)")


def test_debug_shows_each_node_with_its_python_line() -> None:
    run = ow.debug(climb.to_model_proto(), [X, X * 0])
    expected = np.log((X + 1) ** 0.25)
    assert np.allclose(next(iter(run.outputs.values())), expected)
    ops = [r.op for r in run]
    assert ops.count("Sqrt") == 2
    inner = next(r for r in run if r.op == "Sqrt")
    assert inner.source == "y = op.Sqrt(x)"
    assert len(inner.path) == 3  # the loop, its iteration, the function
    assert inner.index == -1
    assert str(run).splitlines()[0].split()[:3] == ["#", "op", "output"]
    assert "Sqrt" in run._repr_html_()
    assert run.as_dicts()[0]["op"] == run.records[0].op


def test_debug_of_a_script_and_of_a_file(tmp_path: Path) -> None:
    assert ow.debug(root, [X]).outputs.keys() == ow.debug(root.to_model_proto(), [X]).outputs.keys()
    path = tmp_path / "m.onnx"
    big = parsed("y = Add(x, w)")
    big.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, np.float32), "w"))
    onnx.save(big, path, save_as_external_data=True, size_threshold=0)
    assert ow.debug(path, [X]).outputs["y"].tolist() == [2, 5]


def test_debug_keeps_or_drops() -> None:
    run = ow.debug(MODEL, [X])
    assert list(run.values) == ["a", "b", "c", "y"]
    assert run["a"].tolist() == (-X).tolist()
    lean = ow.debug(MODEL, [X], keep="none")
    assert not lean.values
    assert lean["y"].tolist() == [1, 1]
    with pytest.raises(EagerError, match='keep="all"'):
        lean["a"]
    with pytest.raises(EagerError, match="OW624"):
        run["nope"]
    little = ow.debug(MODEL, [X], max_bytes=X.nbytes)
    assert list(little.values) == ["y"]
    assert little.outputs["y"].tolist() == [1, 1]


def test_debug_picks_up_anywhere() -> None:
    run = ow.debug(MODEL, [X])
    again = run.resume("c")
    assert [r.op for r in again] == ["Add", "Exp"]
    assert np.array_equal(again.outputs["y"], run.outputs["y"])
    changed = run.resume(2, b=np.zeros(2, np.float32))
    assert np.allclose(changed.outputs["y"], np.exp(-X))
    with pytest.raises(EagerError, match="OW624"):
        run.resume("nope")
    with pytest.raises(EagerError, match="OW624"):
        ow.debug(MODEL, [X], keep="none").resume("c")
    assert [r.op for r in ow.debug(MODEL, [X], until="b")] == ["Neg", "Abs"]


def test_debug_stops_at_a_bad_value() -> None:
    with pytest.raises(EagerError, match="OW623") as caught:
        ow.debug(parsed("a = Neg(x)  y = Sqrt(a)"), [X], stop_on="nan")
    assert [r.op for r in caught.value.debug] == ["Neg", "Sqrt"]


def test_debug_calls_back() -> None:
    seen = []
    ow.debug(MODEL, [X], on_value=lambda record, value: seen.append((record.op, value.shape)))
    assert seen == [("Neg", (2,)), ("Abs", (2,)), ("Add", (2,)), ("Exp", (2,))]


def test_debug_inputs_are_checked() -> None:
    for inputs in ([], {"q": X}, [X, X]):
        with pytest.raises(EagerError, match="OW621"):
            ow.debug(MODEL, inputs)


def test_debug_of_a_failing_node_shows_its_line() -> None:
    model = climb.to_model_proto()
    with pytest.raises(EagerError, match="OW612") as caught:
        ow.debug(model, [X, np.ones(3, np.float32)])
    assert "total = root(total) - n" in str(caught.value)
    assert caught.value.debug.records


def test_subgraphs_see_what_is_around_them() -> None:
    model = parsed(
        """
        z = Constant <value = float {0.0}> ()
        s = ReduceSum <keepdims = 0> (x)
        c = Greater(s, z)
        y = If (c) <
            then_branch = t () => (float[N] u) { u = Add(x, x) },
            else_branch = e () => (float[N] u) { u = Neg(x) }
        >
        """
    )
    run = ow.debug(model, [X])
    assert run.outputs["y"].tolist() == (2 * X).tolist()
    assert ow.debug(model, [-X]).outputs["y"].tolist() == X.tolist()
    assert any(r.path and r.op == "Add" for r in run)


# -- divergence ----------------------------------------------------------------------------------


@script
def climb_worse(x: FLOAT["N"], n: FLOAT["N"]) -> FLOAT["N"]:
    total = x + 1.0
    for i in range(2):  # noqa: B007 - its name is part of the trace
        total = root(total) - n * 1.01
    return op.Log(total)


def test_equal_ones_do_not_diverge() -> None:
    model = climb.to_model_proto()
    assert ow.first_divergence(climb, climb, [X, X]) is None
    assert ow.first_divergence(model, model, [X, X]) is None
    assert ow.first_divergence(climb, model, [X, X]) is None
    assert ow.first_divergence(model, climb, {"x": X, "n": X}) is None


@pytest.mark.parametrize("models", [False, True], ids=["functions", "models"])
def test_the_first_difference_is_found(models: bool) -> None:
    a, b = climb, climb_worse
    pair = (a.to_model_proto(), b.to_model_proto()) if models else (a, b)
    divergence = ow.first_divergence(*pair, [X, X])
    assert divergence is not None
    assert divergence.name.startswith("total")
    assert np.allclose(divergence.a - divergence.b, 0.01 * X, atol=1e-5)
    text = str(divergence)
    assert "total = root(total) - n" in text
    assert "2 of 2 elements differ" in text


DIFFERENCES = {
    "equal": (X, X, ""),
    "close": (X, X + 1e-6, ""),
    "nan": (np.array([np.nan]), np.array([np.nan]), ""),
    "types": (X, X.astype(np.float64), "FLOAT[2] against DOUBLE[2]"),
    "shapes": (X, X[:1], "FLOAT[2] against FLOAT[1]"),
    "text": (
        np.array(["a"], object),
        np.array(["b"], object),
        "1 of 1 elements differ, most at [0]: a against b",
    ),
    "lists": ([X], [X, X], "sequences of 1 and 2"),
    "inside lists": ([X], [X + 1], "[0]: 2 of 2 elements differ, most at [0]: 1.0 against 2.0"),
    "numbers": (1, 2, "1 against 2"),
    "none": (None, X, "absent against FLOAT[2]"),
}  # fmt: skip


@each("what", DIFFERENCES)
def test_differences_in_words(what: str) -> None:
    a, b, expected = DIFFERENCES[what]
    assert difference(a, b, rtol=1e-4, atol=1e-5) == expected


def test_facts() -> None:
    stats = facts_of(np.array([1, np.nan, np.inf, -np.inf, 3]))
    assert (stats.low, stats.high, stats.mean, stats.nans, stats.infs) == (1, 3, 2, 1, 2)
    assert facts_of(np.array([np.nan])).low is None
    assert facts_of(np.array([], np.float32)).type == "FLOAT[0]"
    assert facts_of(np.array(["a"], object)).mean is None
    assert facts_of(3).type == "int 3"
    assert facts_of(None).type == "absent"


RESULTS_APART = {
    "a node before the other": (
        "{ y = Relu(x)  z = Neg(x) }",
        "{ z = Neg(x)  y = Relu(x) }",
    ),
    "an input is a result": (
        "{ y = Relu(x)  z = Identity(x) }",
        "{ t = Neg(x)  z = Neg(t)  y = Relu(x) }",
    ),
    "a constant is a result": (
        "{ y = Constant <value_floats = [1.0, 2.0]> ()  z = Neg(x) }",
        "{ z = Neg(x)  o = Sub(x, x)  c = Constant <value_floats = [1.0, 2.0]> ()  y = Add(c, o) }",
    ),
}


@each("case", RESULTS_APART)
def test_results_are_paired_by_position(case: str) -> None:
    """Whatever nodes make them, and in which order."""
    head = '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y, float[2] z) '
    a, b = (onnx.parser.parse_model(head + body) for body in RESULTS_APART[case])
    for value in b.graph.output:  # names of results are not what pairs them
        for node in b.graph.node:
            node.output[:] = [f"r_{n}" if n == value.name else n for n in node.output]
            node.input[:] = [f"r_{n}" if n == value.name else n for n in node.input]
        value.name = f"r_{value.name}"
    x = np.array([-1.0, 2.0], np.float32)
    assert ow.first_divergence(a, b, [x]) is None
    b.graph.output.reverse()
    divergence = ow.first_divergence(a, b, [x])
    assert divergence is not None
    assert (divergence.name, divergence.other_name) == ("y", "r_z")


def test_results_of_a_function_and_of_its_model_are_paired_by_position() -> None:
    """Several results on one line, made in another order than they are returned in."""

    @ow.script
    def one(x: ow.FLOAT[2]):
        a = op.Relu(x)
        return a, op.Neg(x), x

    @ow.script
    def two(x: ow.FLOAT[2]):
        n = op.Neg(x)
        return op.Relu(x), n, x

    x = np.array([-1.0, 2.0], np.float32)
    forms = [one, two, one.to_model_proto(), two.to_model_proto()]
    assert [ow.first_divergence(a, b, [x]) for a in forms for b in forms] == [None] * 16


def test_results_of_a_model_with_fewer_are_found_by_name() -> None:
    head = '<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => '
    whole = onnx.parser.parse_model(head + "(float[N] p, float[N] q) { p = Neg (x) q = Relu (x) }")
    part = onnx.parser.parse_model(head + "(float[N] q) { q = Relu (x) }")
    for a, b in ((whole, part), (part, whole)):
        assert ow.first_divergence(a, b, [np.array([1, -2], np.float32)]) is None
    other = onnx.parser.parse_model(head + "(float[N] q) { q = Abs (x) }")
    divergence = ow.first_divergence(whole, other, [np.array([1, -2], np.float32)])
    assert divergence is not None
    assert divergence.name == "q"


@each("tool", ["debug", "first_divergence", "the node that failed"])
def test_calls_that_expand_to_many_nodes_are_not_run_one_by_one(tool: str) -> None:
    text = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]> g (float[2] x) => (float[2] y) '
    text += "{ h = f.f0(x) i = Constant<value_ints=[7]>() y = Gather(h, i) }"
    for n in range(16):
        text += (
            f'<domain: "f", opset_import: ["" : 18, "f" : 1]> f{n} (a) => (c)'
            f" {{ b = f.f{n + 1}(a) c = f.f{n + 1}(b) }}"
        )
    text += '<domain: "f", opset_import: ["" : 18]> f16 (a) => (c) { c = Relu(a) }'
    model = onnx.parser.parse_model(text)
    x = np.ones(2, np.float32)
    if tool == "the node that failed":  # a run that only serves the message is left out
        from onnxwright.eager.ort.model_failures import tell_node

        tell_node(model, {"x": x}, ValueError())
        return
    run = ow.debug if tool == "debug" else lambda m, x: ow.first_divergence(m, m, x)
    with pytest.raises(ow.errors.ModelError, match="expand to 196,606 nodes, and at most 100,000"):
        run(model, [x])
