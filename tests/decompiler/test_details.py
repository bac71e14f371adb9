"""What a model says beside its computation comes back; odd models come back too."""

# ruff: noqa: E501 - a graph is one line

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper, parser

from onnxwright.decompiler import proto2python, to_script
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.errors import ModelTypeError, ScriptValueError
from onnxwright.testing import assert_isomorphic

NODE = helper.make_node  # noqa: TID251
HEAD = '<ir_version: {ir}, opset_import: ["" : {opset}, "ai.onnx.ml" : 3, "my.domain" : 2]>\n'

GRAPHS = {
    "plain": "g (float[N] x) => (float[N] y) { y = Relu(x) }",
    "no nodes": "g (float[N] x) => (float[N] x) { }",
    "output twice": "g (float[N] x) => (float[N] y, float[N] y) { y = Relu(x) }",
    "no outputs": "g (float[N] x) => () { y = Relu(x) }",
    "absent input": "g (float[N] x) => (float[N] y) { y = Clip(x, , m) m = Constant<value_float=1.0>() }",
    "absent output": "g (float[N, 2] x) => (int64[N, 1] y) { k = Constant<value = int64[1] {1}>() , y = TopK(x, k) }",
    "variadic": "g (float[N] x) => (float[M] y) { y = Concat<axis = 0>(x, x, x) }",
    "outputs": "g (float[4] x) => (float[1] y) { a, b, y, c = Split<num_outputs = 4>(x) }",
    "custom": 'g (float[N] x) => (float[N] y) { a, b = my.domain.Thing<k = 1, s = "t", f = 1.0, l = [1, 2], e = [1.5]>(x, , x) y = my.domain.Other(b) }',
    "unknown op": 'g (float[N] x) => (float[N] y) { y = ATen<operator = "foo">(x) }',
    "old op": 'g (float[N] x) => (float[N] y) { y = Upsample<mode = "nearest">(x, x) }',
    "extra attribute": "g (float[N] x) => (float[N] y) { y = Relu<not_there = 3>(x) }",
    "wrong attribute": 'g (float[N] x) => (float[N] y) { y = Softmax<axis = "one">(x) }',
    "an Identity of several": "g (float[N] x, bool b) => (float[N] y) { y = Identity(x, x, b) }",
    "an If without an input": "g (float[N] x, bool b) => (float[N] y) { y = If() <then_branch = t () => (float[N] q) { q = Neg(x) }, else_branch = e () => (float[N] r) { r = Abs(x) }> }",
    "missing input": "g (float[N] x) => (float[N] y) { y = Add(x) }",
    "unsorted": "g (float[N] x) => (float[N] y) { y = Neg(a) a = Relu(x) }",
    "dead": "g (float[N] x) => (float[N] y) { y = Neg(x) a = Relu(x) b = Relu(x) }",
    "shared constant": "g (float[N] x) => (float[N] y) { c = Constant<value = float {2.0}>() a = Mul(x, c) y = Add(a, c) }",
    "equal constants": "g (float[N] x) => (float[N] y) { c = Constant<value = float {2.0}>() d = Constant<value = float {2.0}>() a = Mul(x, c) y = Add(a, d) }",
    "constant forms": 'g () => (float y) { y = Constant<value_float = 2.0>() a = Constant<value_ints = [1, 2]>() b = Constant<value_strings = ["a"]>() }',
    "types at odds": "g (float[N] x, float16[N] z) => (float[N] y) { a = Add(x, z) y = Sub(a, x) }",
    "shapes at odds": "g (float[2] x, float[3] z) => (float[7] y) { a = Add(x, z) y = MatMul(a, x) }",
    "scalar input": "g (float x, float[] z) => (float y) { y = Add(x, z) }",
    "sequence": "g (seq(float[N]) x) => (float[M] y) { i = Constant<value = int64 {0}>() y = SequenceAt(x, i) }",
    "optional": "g (optional(float[N]) x) => (float[N] y) { y = OptionalGetElement(x) }",
    "map": "g (float[N] x) => (seq(map(int64, float[N])) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [1, 2]>(x) }",
    "sparse type": "g (sparse_tensor(float[N]) x) => (float[N] y) { y = my.domain.Dense(x) }",
    "nested": "g (bool c, float[N] x) => (float[N] y) { y = If(c)<then_branch = t () => (float[N] a) { a = If(c)<then_branch = t () => (float[N] b) { b = Relu(x) }, else_branch = e () => (float[N] b) { b = Neg(x) }> }, else_branch = e () => (float[N] a) { a = Identity(x) }> }",
    "passthrough": "g (int64 n, bool c, float[N] x) => (float[N] y) { y = Loop(n, c, x)<body = b (int64 i, bool c1, float[N] v) => (bool c1, float[N] w) { w = Neg(v) }> }",
    "loop without inputs": "g (bool c) => (float[M] y) { y = Loop(, c)<body = b (int64 i, bool c1) => (bool c2, float w) { c2 = Not(c1) w = Constant<value_float = 1.0>() }> }",
    "scan": "g (float[2] s, float[3, 2] x) => (float[2] t, float[3, 2] y) { t, y = Scan<num_scan_inputs = 1, body = b (float[2] a, float[2] b) => (float[2] c, float[2] d) { c = Add(a, b) d = Identity(c) }>(s, x) }",
}  # fmt: skip


def graph_model(text: str, opset: int = 18, ir_version: int = 9) -> onnx.ModelProto:
    """A model around a graph's text, valid or not."""
    return parser.parse_model(HEAD.format(ir=ir_version, opset=opset) + text)


@pytest.mark.parametrize("operators", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_comes_back(name: str, operators: bool) -> None:
    model = graph_model(GRAPHS[name].replace("e = [1.5]", "e = [1.5]"))
    source = to_script(model, operators=operators)
    assert_isomorphic(model, rebuild(source), subgraph_names=True)
    assert to_script(rebuild(source), operators=operators) == source


@pytest.mark.parametrize("opset", [1, 6, 7, 9, 13, 18, 23, 26, 28, 99])
def test_every_opset_comes_back(opset: int) -> None:
    text = "g (float[N] x) => (float[N] y) { a = Add(x, x) b = Relu(a) y = Squeeze(b) }"
    model = graph_model(text, opset)
    assert_isomorphic(model, rebuild(to_script(model)))


def rich() -> onnx.ModelProto:
    """A model that says everything a model can say."""
    model = graph_model(GRAPHS["nested"])
    model.graph.initializer.add().CopyFrom(
        numpy_helper.from_array(np.ones(3, np.float32), "unread")
    )
    model.graph.initializer.add().CopyFrom(numpy_helper.from_array(np.ones(3, np.float32), "x"))
    model.graph.quantization_annotation.add(tensor_name="y").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="unread"
    )
    model.graph.input[1].type.denotation = "IMAGE"
    model.graph.input[1].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    branch = model.graph.node[0].attribute[0].g
    branch.doc_string = "inner\n    text "
    branch.initializer.add().CopyFrom(numpy_helper.from_array(np.ones(3, np.float32), "local"))
    branch.node.add().CopyFrom(NODE("Relu", ["local"], ["unused"], doc_string="said"))
    branch.value_info.add().CopyFrom(helper.make_tensor_value_info("unused", 1, [3]))
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([1.5], np.float32), "sparse"),
        numpy_helper.from_array(np.array([[0, 1]], np.int64), "places"),
        [2, 2],
    )
    model.graph.sparse_initializer.add().CopyFrom(sparse)
    model.graph.node.add().CopyFrom(NODE("Constant", [], ["held"], sparse_value=sparse))
    model.graph.node.add().CopyFrom(NODE("Identity", ["sparse"], ["read"]))
    model.graph.node.add().CopyFrom(
        NODE("Optional", [], ["nothing"], type=helper.make_tensor_type_proto(1, [2]))
    )
    model.graph.doc_string = "  text with \\ and ''' and \"\"\"\n"
    model.doc_string = "one\ntwo"
    model.producer_name, model.producer_version, model.domain = "p", "1.0", "d"
    model.model_version = 7
    model.metadata_props.add(key="k", value="v")
    model.training_info.add().algorithm.name = "training"
    model.graph.metadata_props.add(key="g", value="v")
    model.graph.node[0].metadata_props.add(key="n", value="v")
    model.graph.value_info.add().CopyFrom(helper.make_tensor_value_info("read", 1, None))
    for overload in ("", "two"):
        function = helper.make_function(
            "my.domain", "f", ["a", "b"], ["c"], [NODE("Add", ["a", "b"], ["c"])],
            [helper.make_opsetid("", 17)], ["k"],
        )  # fmt: skip
        function.overload = overload
        function.attribute_proto.add().CopyFrom(helper.make_attribute("z", [1.0, 2.0]))
        function.attribute_proto.add().CopyFrom(helper.make_attribute("s", "text"))
        function.value_info.add().CopyFrom(helper.make_tensor_value_info("c", 1, ["N"]))
        model.functions.append(function)
        node = NODE("f", ["x", "x"], [f"called{overload}"], domain="my.domain", k=1)
        node.overload = overload
        model.graph.node.append(node)
    return model


def test_everything_a_model_says_comes_back() -> None:
    model = rich()
    source = to_script(model)
    back = rebuild(source)
    assert_isomorphic(model, back, node_names=True, subgraph_names=True)
    assert to_script(back) == source


def test_functions_and_graphs_are_written() -> None:
    model = rich()
    for function in model.functions:
        assert_isomorphic(function, rebuild(to_script(function)))
    rebuilt = rebuild(to_script(model.graph))
    assert isinstance(rebuilt, onnx.ModelProto)
    assert_isomorphic(rebuilt.graph, model.graph)


def test_objects_of_onnx_ir_are_written() -> None:
    model = graph_model(GRAPHS["scan"])
    ir_model = ir.from_proto(model)
    assert_isomorphic(ir.to_proto(ir_model), rebuild(to_script(ir_model)))
    assert "def g(" in to_script(ir_model.graph)


def test_functions_call_functions_and_pass_attributes_on() -> None:
    text = (
        HEAD.format(ir=9, opset=18)
        + """
g (float[N] x) => (float[N] y) { y = my.domain.outer<alpha = 0.5, axes = [1, 2]>(x) }
<domain: "my.domain", opset_import: ["" : 18, "my.domain" : 2]>
outer <alpha, axes> (x) => (y) { a = my.domain.inner<alpha: float = @alpha>(x) y = Identity(a) }
<domain: "my.domain", opset_import: ["" : 17]>
inner <alpha> (x) => (y) { y = LeakyRelu<alpha: float = @alpha>(x) }
"""
    )
    model = parser.parse_model(text)
    source = to_script(model)
    assert "alpha=alpha" in source
    assert_isomorphic(model, rebuild(source))


def test_the_other_name_takes_the_usual_keywords() -> None:
    model = graph_model(GRAPHS["equal constants"])
    assert "op.Mul(" in proto2python(model, "f", use_operators=False)
    source = proto2python(model, "f", use_operators=True, inline_const=True)
    assert "def f(" in source
    assert " * 2.0" in source


def test_what_is_no_model_is_refused(tmp_path: object) -> None:
    with pytest.raises(ModelTypeError, match="OW752"):
        to_script(3)
    with pytest.raises(ScriptValueError, match="OW741"):
        to_script("no such file.onnx")


def test_reasons_are_given() -> None:
    """Where an operator would come back otherwise, a call is written, and it is said why."""
    reasons: list[str] = []
    to_script(graph_model(GRAPHS["types at odds"]), explain=reasons)
    source = to_script(graph_model(GRAPHS["shapes at odds"]), explain=reasons)
    assert "op.Add(x, z)" in source
    assert any("is written as a call" in r for r in reasons)


def test_branches_keep_their_names_whichever_stands_first() -> None:
    """`helper.make_node` sorts attributes: `else_branch` then stands before `then_branch`."""

    def branch(name: str, output: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
        info = helper.make_tensor_value_info(output, 1, ["N"])
        return helper.make_graph(nodes, name, [], [info])

    def either(output: str, **branches: onnx.GraphProto) -> onnx.NodeProto:
        return NODE("If", ["c"], [output], **branches)

    inner = either(
        "q",
        then_branch=branch("first", "r", NODE("Relu", ["x"], ["r"])),
        else_branch=branch("second", "s", NODE("Neg", ["x"], ["s"], name="negated")),
    )
    node = either(
        "y",
        then_branch=branch("third", "q", inner),
        else_branch=branch("fourth", "t", NODE("Abs", ["x"], ["t"], name="absolute")),
    )
    inputs = [helper.make_tensor_value_info(*i) for i in (("x", 1, ["N"]), ("c", 9, []))]
    outputs = [helper.make_tensor_value_info("y", 1, ["N"])]
    model = helper.make_model(helper.make_graph([node], "g", inputs, outputs))
    for operators in (True, False):
        source = to_script(model, operators=operators)
        assert_isomorphic(model, rebuild(source), node_names=True, subgraph_names=True)
        assert to_script(rebuild(source), operators=operators) == source


@pytest.mark.parametrize("kind", ["GRAPHS", "GRAPH", "TENSORS", "TYPE_PROTOS", "STRINGS"])
def test_attributes_without_a_value_come_back(kind: str) -> None:
    model = graph_model("g (float[N] x) => (float[N] y) { y = my.domain.Thing(x) }")
    kinds = onnx.AttributeProto.AttributeType
    model.graph.node[0].attribute.add(name="nothing", type=getattr(kinds, kind))
    source = to_script(model)
    assert_isomorphic(model, rebuild(source))
    assert to_script(rebuild(source)) == source


AT_ODDS = {
    "made twice": ("y = Relu(x) y = Neg(x)", "graph `g`: the value `y` is defined twice"),
    "input made": ("x = Relu(x) y = Neg(x)", "the value `x` is defined twice"),
    "never made": (
        "y = Add(x, ghost)",
        "graph `g`, node 0 (`Add`): it reads `ghost`, which is not defined",
    ),
    "circle": ("y = Add(x, a) a = Relu(y)", "computed from each other"),
    "attributes": (
        "y = LeakyRelu<alpha = 1.0, alpha = 2.0>(x)",
        "the attribute `alpha` is defined twice",
    ),
    "output": ("z = Relu(x)", "graph `g`: its output `y` is not defined"),
}


@pytest.mark.parametrize("name", AT_ODDS)
def test_models_at_odds_with_themselves_are_refused(name: str) -> None:
    body, reason = AT_ODDS[name]
    graph = parser.parse_graph(f"g (float[N] x) => (float[N] y) {{ {body} }}")
    with pytest.raises(ScriptValueError) as caught:
        to_script(graph)
    assert "OW744" in str(caught.value)
    assert reason in str(caught.value)


def test_functions_in_a_circle_and_odd_tensors_are_refused() -> None:
    functions = [
        helper.make_function(
            "my.domain", name, ["a"], ["b"], [NODE(other, ["a"], ["b"], domain="my.domain")],
            [helper.make_opsetid("my.domain", 2)],
        )
        for name, other in (("f", "g"), ("g", "f"))
    ]  # fmt: skip
    model = graph_model("g (float[N] x) => (float[N] y) { y = my.domain.f(x) }")
    model.functions.extend(functions)
    with pytest.raises(ScriptValueError, match="call each other in a cycle"):
        to_script(model)
    for odd, reason in (
        ({"data_type": 77}, "element type 77"),
        ({"dims": [-1]}, "which is negative"),
    ):
        model = graph_model("g (float[N] x) => (float[N] y) { y = Add(x, w) }")
        model.graph.initializer.add(name="w", **{"data_type": 1, "raw_data": b"1234", **odd})
        with pytest.raises(ScriptValueError, match=reason):
            to_script(model)
