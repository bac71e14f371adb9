"""Rules rewrite a model in place: only what is around a match is built anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onnxwright as ow
from onnxwright.builder.replay_model import ReplayOptions, replayed
from onnxwright.optimizer.driver import Driver
from onnxwright.optimizer.rewriter import Rewriter
from onnxwright.optimizer.scope import Scope
from onnxwright.testing import first_difference

SCOPE = Scope("rounding", frozenset(), "any", 20)


two_negs = ow.rule(lambda op, x: op.Abs(op.Neg(x)), name="two_negs").to(lambda op, x: op.Abs(x))


doubled = ow.rule(lambda op, x: x + x, name="doubled", grows=True, level="rounding").to(
    lambda op, x: x * np.array(2.0, np.float32)
)


def parsed(body: str, functions: str = "", inputs: str = "float[N, 3] x") -> ir.Model:
    head = f'<ir_version: 10, opset_import: ["" : 20, "f" : 1]> g ({inputs}) => (float[N, 3] y)'
    return ir.from_proto(onnx.parser.parse_model(f"{head} {{ {body} }} {functions}"))


def wave(driver: Driver, *rules: Any, everywhere: bool = True) -> Rewriter:
    rewriter = Rewriter(rules, SCOPE)
    driver.wave(rewriter, everywhere=everywhere)
    return rewriter


def opened(body: str, functions: str = "", inputs: str = "float[N, 3] x") -> Driver:
    return Driver(replayed(parsed(body, functions, inputs), ReplayOptions()))


def test_other_nodes_stay_the_objects_they_are() -> None:
    driver = opened("a = Tanh(x)  n = Neg(a)  b = Abs(n)  c = Sigmoid(b)  y = Relu(c)")
    before = {node.op_type: node for node in driver.model.graph}
    assert wave(driver, two_negs).fired == {"two_negs": 1}
    after = {node.op_type: node for node in driver.model.graph}
    assert list(after) == ["Tanh", "Abs", "Sigmoid", "Relu"]
    assert {name for name in after if after[name] is before[name]} == {"Tanh", "Sigmoid", "Relu"}
    assert [v.name for node in driver.model.graph for v in node.outputs] == ["a", "b", "c", "y"]


def test_an_equal_node_is_used_where_it_is_computed_before() -> None:
    driver = opened("p = Abs(x)  n = Neg(x)  q = Abs(n)  s = Add(p, q)  y = Sqrt(s)")
    wave(driver, two_negs)
    wave(driver, everywhere=False)
    assert [node.op_type for node in driver.model.graph] == ["Abs", "Add", "Sqrt"]
    assert len({v.name for v in driver.model.graph[1].inputs if v is not None}) == 1


def test_an_output_that_becomes_an_input_has_an_identity() -> None:
    rewritten = ow.rewrite(parsed("n = Neg(x)  y = Neg(n)"), _double_negation())
    assert [(n.op_type, n.outputs[0].name) for n in rewritten.graph] == [("Identity", "y")]


def _double_negation() -> Any:
    @ow.rule
    def double_negation(op: Any, x: Any) -> Any:
        return op.Neg(op.Neg(x))

    return double_negation.to(lambda op, x: x)  # noqa: ARG005 - parameters are named


@pytest.mark.parametrize("kept", ["body", "function"])
def test_bodies_and_functions_are_rewritten_where_they_are(kept: str) -> None:
    branch = "n = Neg(x)  a = Abs(n)  t = Add(a, a)"
    if kept == "body":
        body = (
            f"y = If(c) <then_branch = g1 () => (float[N, 3] t) {{ {branch} }}, "
            "else_branch = g2 () => (float[N, 3] e) { e = Relu(x) }>"
        )
        driver = opened(body, inputs="float[N, 3] x, bool c")
        inner: Any = driver.model.graph[0].attributes["then_branch"].as_graph()
    else:
        function = f'<domain: "f", opset_import: ["" : 20]> F (x) => (t) {{ {branch} }}'
        driver = opened("y = f.F(x)", function)
        (inner,) = driver.model.functions.values()
    before = driver.model.clone()
    assert wave(driver, two_negs, doubled).fired == {"two_negs": 1, "doubled": 1}
    wave(driver, everywhere=False)
    assert [n.op_type for n in inner if n.op_type != "Constant"] == ["Abs", "Mul"]
    feeds = [{v.name: np.ones((1, 3), np.float32) for v in before.graph.inputs}]
    if kept == "body":
        feeds[0]["c"] = np.array(True)
    difference = first_difference(ir.to_proto(before), ir.to_proto(driver.model), feeds=feeds)
    assert difference is None
