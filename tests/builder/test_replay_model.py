"""A replayed model says what the old one said: names, notes, types, functions, bodies."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest

from onnxwright.builder.replay_model import ReplayOptions, replay_model

# (what it is about, the model as text, operators afterwards)
CASES = [
    (
        "identities go, names stay",
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[N] x, float[N] unused) => (float[N] y) {
            a = Identity(x)  b = Relu(a)  y = Neg(b) }""",
        ["Relu", "Neg"],
    ),
    (
        "an output that is an input, one that is an initializer, one that stands twice",
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[N] x) => (float[N] x, float[2] w, float[N] y, float[N] z)
        <float[2] w = {1.0, 2.0}> { y = Relu(x)  z = Relu(x) }""",
        ["Relu", "Identity"],
    ),
    (
        "initializers that are inputs",
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1.0, 1.0}> { y = Mul(x, w) }""",
        ["Mul"],
    ),
    (
        "both branches use a name",
        """<ir_version: 10, opset_import: ["" : 20]>
        g (bool c, float[N] x) => (float[N] y) {
            y = If(c) <
                then_branch = t () => (float[N] r) { q = Relu(x)  r = Neg(q) },
                else_branch = e () => (float[N] r2) { q = Neg(x)  r2 = Relu(q) }> }""",
        ["If"],
    ),
    (
        "operators of another domain",
        """<ir_version: 10, opset_import: ["" : 20, "mine" : 3]>
        g (float[N] x) => (float[N] y) { a = Identity(x)  b = mine.Thing(a)  y = mine.Other(b) }""",
        ["Thing", "Other"],
    ),
    (
        "functions stay functions",
        """<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
        g (float[N] x) => (float[N] y) { y = local.f <alpha = 0.5> (x) }
        <domain: "local", opset_import: ["" : 20]>
        f <alpha> (a) => (r) { b = Identity(a)  r = LeakyRelu <alpha: float = @alpha> (b) }""",
        ["f"],
    ),
    (
        "what contradicts its schema is left to whoever runs it",
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[2, 3] x, float[4, 5] z) => (float[2, 5] y) { y = MatMul(x, z) }""",
        ["MatMul"],
    ),
]


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_replay(text: str, expected: list[str]) -> None:
    model = onnx.parser.parse_model(text)
    model.metadata_props.add(key="k", value="v")
    model.graph.node[-1].name = "last"
    model.graph.node[-1].metadata_props.add(key="note", value="n")
    replayed = ir.to_proto(replay_model(ir.from_proto(model)))
    assert [n.op_type for n in replayed.graph.node] == expected
    assert list(replayed.graph.input) == list(model.graph.input)
    assert list(replayed.graph.output) == list(model.graph.output)
    assert [i.name for i in replayed.graph.initializer] == [i.name for i in model.graph.initializer]
    assert replayed.opset_import == model.opset_import
    assert replayed.metadata_props[0].value == "v"
    if expected[-1] != "Identity":
        assert replayed.graph.node[-1].name == "last"
        assert replayed.graph.node[-1].metadata_props[0].value == "n"
        assert replayed.graph.node[-1].output == model.graph.node[-1].output


def test_function_bodies_are_replayed_and_keep_references() -> None:
    model = onnx.parser.parse_model(CASES[5][1])
    replayed = ir.to_proto(replay_model(ir.from_proto(model)))
    (function,) = replayed.functions
    assert [n.op_type for n in function.node] == ["LeakyRelu"]
    assert function.node[0].attribute[0].ref_attr_name == "alpha"
    assert list(function.attribute) == ["alpha"]


def test_functions_can_be_inlined() -> None:
    model = onnx.parser.parse_model(CASES[5][1])
    inlined = replay_model(ir.from_proto(model), ReplayOptions(inline=lambda _: True))
    assert [n.op_type for n in inlined.graph] == ["LeakyRelu"]
    assert not inlined.functions


def test_verbatim_keeps_every_node() -> None:
    model = onnx.parser.parse_model(CASES[0][1])
    replayed = replay_model(ir.from_proto(model), ReplayOptions(verbatim=True))
    assert [n.op_type for n in replayed.graph] == ["Identity", "Relu", "Neg"]
    assert [v.name for n in replayed.graph for v in n.outputs] == ["a", "b", "y"]
