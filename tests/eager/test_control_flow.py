"""If, Loop, Scan and SequenceMap with Python callables as bodies, and with graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from onnxwright import opset18 as op
from onnxwright import script
from onnxwright.eager import SequenceValue, Tensor, debug
from onnxwright.errors import EagerError
from onnxwright.types import FLOAT, INT64
from tests.harness.tables import each

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def graph(text: str) -> Any:
    return onnx.parser.parse_graph(text)


def test_if_runs_one_branch() -> None:
    ran = []

    def then() -> Any:
        ran.append("then")
        return op.Add(X, 1.0)

    def other() -> Any:
        ran.append("else")
        return X

    assert np.array_equal(op.If(np.array(True), then_branch=then, else_branch=other), X + 1)
    assert np.array_equal(op.If(False, then_branch=then, else_branch=other), X)
    assert np.array_equal(op.If(Tensor([True]), then_branch=then, else_branch=other).value, X + 1)
    assert ran == ["then", "else", "then"]


def test_if_with_several_results() -> None:
    a, b = op.If(np.array(True), then_branch=lambda: (X, 1.0), else_branch=lambda: (X, 2.0))
    assert float(b) == 1.0
    assert a.shape == X.shape


def test_if_with_graphs() -> None:
    then = graph("then () => (float[1] y) { y = Constant <value = float[1] {1.0}> () }")
    other = graph("other () => (float[1] y) { y = Constant <value = float[1] {2.0}> () }")
    for flag, expected in ((True, 1.0), (False, 2.0)):
        result = op.If(np.array(flag), then_branch=then, else_branch=other)
        assert result.tolist() == [expected]


def test_loop_carries_and_stacks() -> None:
    total, rows = op.Loop(
        4, None, np.float32(1), body=lambda i, going, x: (going, x * 2.0, x + 0.0)
    )
    assert total.item() == 16.0
    assert rows.tolist() == [1, 2, 4, 8]


def test_a_loop_that_carries_nothing() -> None:
    np.testing.assert_array_equal(op.Loop(3, None, body=lambda i, c: (c, i * 2)), [0, 2, 4])
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (int64 n) => (int64[k] y) '
        "{ y = Loop(n)<body = b (int64 i, bool c) => (bool d, int64 z) "
        "{ d = Identity(c) z = Neg(i) }> }"
    )
    model.graph.node[0].input.append("")
    rows = debug(model, {"n": np.array(3)}).outputs["y"]
    np.testing.assert_array_equal(rows, [0, -1, -2])


def test_loop_stops_on_its_condition() -> None:
    count = op.Loop(None, np.array(True), np.array(0), body=lambda i, c, n: (n < 4, n + 1))
    assert count.item() == 5


def test_loop_without_iterations() -> None:
    carried, rows = op.Loop(
        0, None, X, body=lambda i, going, x: (going, x + 1.0, op.ReduceSum(x, keepdims=0))
    )
    assert np.array_equal(carried, X)
    assert rows.shape == (0,)
    assert rows.dtype == np.float32


def test_loop_with_a_graph() -> None:
    body = graph(
        "body (int64 i, bool c, float[N] x) => (bool c2, float[N] y, float[N] row)"
        "{ c2 = Identity(c)  y = Add(x, x)  row = Identity(x) }"
    )
    y, rows = op.Loop(3, np.array(True), np.ones(2, np.float32), body=body)
    assert y.tolist() == [8, 8]
    assert rows.shape == (3, 2)


def test_loop_carrying_sequences() -> None:
    def body(i: Any, going: Any, seq: Any) -> Any:
        return going, op.SequenceInsert(seq, op.Cast(i, to=1))

    sequence = op.Loop(3, None, op.SequenceEmpty(), body=body)
    assert [v.item() for v in sequence] == [0.0, 1.0, 2.0]


def test_scan() -> None:
    total, sums = op.Scan(
        np.zeros(2, np.float32),
        X,
        num_scan_inputs=1,
        body=lambda state, row: (state + row, state + row),
    )
    assert np.array_equal(total, X.sum(0))
    assert np.array_equal(sums, X.cumsum(0))


def test_scan_directions_and_axes() -> None:
    back = op.Scan(X, num_scan_inputs=1, scan_input_directions=[1], body=lambda row: row)
    assert np.array_equal(back, X[::-1])
    columns = op.Scan(
        X,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1],
        scan_output_directions=[1],
        body=lambda column: column,
    )
    assert np.array_equal(columns, X[:, ::-1])


def test_scan_over_numbers_gives_arrays() -> None:
    doubled = op.Scan(np.arange(3, dtype=np.float32), num_scan_inputs=1, body=lambda v: v * 2.0)
    assert doubled.tolist() == [0, 2, 4]


def test_sequence_map() -> None:
    seq = op.SequenceConstruct(X, X + 1)
    sums = op.SequenceMap(seq, X, body=lambda a, b: op.Add(a, b))
    assert isinstance(sums, SequenceValue)
    assert np.array_equal(sums[1], X + X + 1)


def test_bodies_may_be_scripts_and_nested() -> None:
    @script
    def step(i: INT64, going, x: FLOAT[...]):
        inner = op.Loop(2, None, x, body=lambda j, c, y: (c, y + 1.0))
        return going, inner

    assert op.Loop(3, None, np.float32(0), body=step.function).item() == 6.0


def test_in_a_script_the_same_bodies_work_eagerly_and_compiled() -> None:
    @script
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        def then():
            return op.Add(x, 1.0)

        def other():
            return op.Sub(x, 1.0)

        return op.If(op.ReduceSum(x, keepdims=0) > 0.0, then_branch=then, else_branch=other)

    for sign in (1, -1):
        x = sign * np.ones(2, np.float32)
        assert np.array_equal(f(x), x + sign)
        assert np.array_equal(f.compile()(x), x + sign)


REFUSED = {
    "a branch with parameters": (
        lambda: op.If(np.array(True), then_branch=lambda x: x, else_branch=lambda: X),
        "OW619",
    ),
    "a branch that gives no tensor": (
        lambda: op.If(np.array(True), then_branch=lambda: object(), else_branch=lambda: X),
        "OW618",
    ),
    "a condition of several": (
        lambda: op.If(np.array([True, False]), then_branch=lambda: X, else_branch=lambda: X),
        "OW620",
    ),
    "a loop body that forgets the carried value": (
        lambda: op.Loop(2, None, X, body=lambda i, c, x: c),
        "OW618",
    ),
    "a loop body with too few parameters": (
        lambda: op.Loop(2, None, X, body=lambda i, c: c),
        "OW619",
    ),
    "a loop body that stacks different shapes": (
        lambda: op.Loop(2, None, X, body=lambda i, c, x: (c, x, np.ones(int(i) + 1))),
        "OW618",
    ),
    "a scan over different lengths": (
        lambda: op.Scan(X, X[:2], num_scan_inputs=2, body=lambda a, b: a),
        "OW620",
    ),
    "one callable and one graph": (
        lambda: op.If(
            np.array(False),
            then_branch=lambda: X,
            else_branch=graph("g () => (float y) { y = Constant <value_float = 1.0> () }"),
        ),
        "OW619",
    ),
}


@each("what", REFUSED)
def test_mistakes_are_told_with_their_place(what: str) -> None:
    act, code = REFUSED[what]
    with pytest.raises(EagerError) as caught:
        act()
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.span.file == __file__
