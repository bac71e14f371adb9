"""Graphs of onnx_ir from Python functions, new ones and in a graph that is there."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onnxwright as ow
from onnxwright import BOOL, FLOAT, INT64, opset21

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
X = np.array([[1, -2], [3, 4]], np.float32)


def model_of(graph: ir.Graph) -> onnx.ModelProto:
    proto = ir.to_proto(ir.Model(graph, ir_version=10))
    onnx.checker.check_model(proto, full_check=True)
    return proto


def test_a_graph_has_the_callers_inputs_and_declared_outputs() -> None:
    x = ir.val("x", ir.DataType.FLOAT, ["N", 2])
    declared = ir.val("scaled", ir.DataType.FLOAT, ["N", 2])
    weight = np.float32([[2, 0], [0, 3]])
    graph = ow.build_graph(
        lambda op, a, missing: op.MatMul(a, op.builder.initializer(weight, "w")),
        [x, None], [declared], opset_imports={"": 21, "extra": 3}, name="body",
    )  # fmt: skip
    assert graph.inputs[0] is x
    assert (graph.name, [v.name for v in graph.outputs]) == ("body", ["scaled"])
    assert dict(graph.opset_imports) == {"": 21, "extra": 3}
    assert list(graph.initializers) == ["w"]
    graph.inputs.pop()  # the one that was None has no type
    np.testing.assert_allclose(ow.run_model(model_of(graph), [X])[0], X @ weight)


def test_a_graph_for_an_attribute_reads_the_values_around_it() -> None:
    g = ow.GraphBuilder(opset=21)
    x, n = g.input("x", FLOAT[2]), g.input("n", INT64[()])
    inputs = {"i": INT64[()], "go": BOOL[()], "s": FLOAT[2]}
    body = ow.build_graph(lambda op, i, go, s: (go, op.Add(s, x)), inputs,
                          [ir.Value(name="go_on"), "sum"], parent=g)  # fmt: skip
    assert [v.name for v in body.outputs] == ["go_on", "sum"]
    g.output(g.node("Loop", [n, None, x], {"body": body}), "y")
    (y,) = ow.run_model(g.to_model_proto(), [np.float32([1, 2]), np.array(2)])
    np.testing.assert_array_equal(y, [3, 6])


def test_what_is_wrong_with_a_graph_is_said() -> None:
    inputs = {"x": FLOAT["N"]}

    @ow.script("my.domain")
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return opset21.Neg(x)

    with pytest.raises(ow.ScriptError, match="OW546"):
        ow.build_graph(lambda op, x: (x, x), inputs, ["y"])
    with pytest.raises(ow.ScriptError, match="OW553"):
        ow.build_graph(lambda op, x: op.builder.call(f, x), inputs)
    wrong = ir.val("y", ir.DataType.INT64, ["N"])
    with pytest.raises(ow.ScriptError, match="OW706"):
        ow.build_graph(lambda op, x: op.Neg(x), inputs, [wrong])
    inlined = ow.build_graph(lambda op, x: op.builder.call(f, x, inline=True), inputs)
    assert [node.op_type for node in inlined] == ["Neg"]


def test_nodes_are_built_into_a_graph() -> None:
    text = "g (float[N,2] x) => (float[N,2] y) <float w = {2}> { neg = Neg(x)  y = Mul(neg, w) }"
    model = ir.from_proto(onnx.parser.parse_model(HEAD + text))
    graph = model.graph
    first, last = graph
    weight = np.float32([[0, 1], [1, 0]])

    def more(op, x, same, neg):
        w = op.builder.initializer(weight, "w")
        return op.Relu(op.Neg(x) + same) + op.MatMul(neg, w), x

    x = graph.inputs[0]
    output, passed = ow.build_into(graph, more, [x, x, first.outputs[0]], before=last)
    assert passed is x
    last.replace_input_with(0, output)
    assert [n.op_type for n in graph] == ["Neg", "Neg", "Add", "Relu", "MatMul", "Add", "Mul"]
    assert sorted(graph.initializers) == ["w", "w_1"]
    assert {n.graph for n in graph} == {graph}
    assert all(user in list(graph) for user, _ in x.uses())
    (y,) = ow.run_model(model, [X])
    np.testing.assert_allclose(y, (np.maximum(-X + X, 0) + (-X) @ weight) * 2)


def test_nodes_are_built_into_a_function() -> None:
    function = ir.from_proto(
        onnx.parser.parse_function('<domain: "d", opset_import: ["":21]> f (x) => (y) {y = Neg(x)}')
    )
    (y,) = function.outputs
    many = np.arange(600, dtype=np.float32)
    output = ow.build_into(function, lambda op, y: op.Add(y, many), [y])
    function.outputs[0] = output
    assert [n.op_type for n in function] == ["Neg", "Constant", "Add"]
    assert ir.to_proto(function).output[0] == output.name


def test_modules_are_entered_and_left() -> None:
    g = ow.GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N"])
    g.push_module("layers.0", "Layer")
    g.push_module("mlp")
    assert g.module_path == "layers.0.mlp"
    y = g.op.Neg(g.op.Exp(x), outputs=["mine"])
    g.pop_module()
    z = g.op.Relu(y, name="act")
    g.pop_module()
    g.output(g.op.Abs(z), "out")
    nodes = g.to_model_proto().graph.node
    assert [n.name for n in nodes][:3] == ["layers.0.mlp/Exp", "layers.0.mlp/Neg", "act"]
    assert [n.output[0] for n in nodes] == ["layers.0.mlp.exp", "mine", "layers.0.relu", "out"]
    scopes = {p.key: p.value for p in nodes[0].metadata_props}["pkg.torch.onnx.name_scopes"]
    assert scopes == "['layers.0', 'layers.0.mlp', 'exp']"
    assert not nodes[3].metadata_props
    with pytest.raises(RuntimeError, match="without push_module"):
        g.pop_module()
