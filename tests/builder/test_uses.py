"""What users of a builder write that broke it once."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime
import pytest

from onnxwright import BOOL, DOUBLE, FLOAT, FLOAT16, INT64, UINT8, GraphBuilder, OnnxwrightError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(g: GraphBuilder, **feeds: Any) -> list[Any]:
    model = g.to_model_proto()
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, feeds)


# -- names -----------------------------------------------------------------------------------------


def test_equal_calls_keep_the_names_they_ask_for() -> None:
    """They are one node, and outputs are called as each was."""
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 3])
    a, b = g.op.Relu(x, outputs=["a"]), g.op.Relu(x, outputs=["b"])
    same = g.op.Identity(x, outputs=["same"])
    for value in (a, b, same):
        g.output(value)
    assert g.value("b").value is g.value("a").value
    model = g.to_model_proto()
    assert [o.name for o in model.graph.output] == ["a", "b", "same"]
    assert [n.op_type for n in model.graph.node].count("Relu") == 1


def test_branches_may_use_the_same_names() -> None:
    g = GraphBuilder(opset=21)
    x, c = g.input("x", FLOAT["N", 3]), g.input("c", BOOL[()])
    y = g.op.If(
        c,
        then_branch=lambda: g.op.Relu(x, outputs=["h"]),
        else_branch=lambda: g.op.Neg(x, outputs=["h"]),
    )
    g.output(y, "y")
    np.testing.assert_array_equal(run(g, x=X, c=np.array(False))[0], -X)


def test_a_name_inside_a_branch_is_not_free_outside() -> None:
    g = GraphBuilder(opset=21)
    x, c = g.input("x", FLOAT["N", 3]), g.input("c", BOOL[()])
    g.op.If(c, then_branch=lambda: g.op.Relu(x, outputs=["h"]), else_branch=lambda: x)
    with pytest.raises(OnnxwrightError, match="OW544"):
        g.op.Neg(x, outputs=["h"])


@pytest.mark.parametrize("name", ["", 5, None])
def test_inputs_have_names(name: Any) -> None:
    with pytest.raises(OnnxwrightError, match="OW549"):
        GraphBuilder(opset=21).input(name, FLOAT)


def test_an_initializer_named_by_an_array() -> None:
    g = GraphBuilder(opset=18)
    with pytest.raises(OnnxwrightError, match=r"OW549.*ndarray"):
        g.initializer("scale", np.ones(4, np.float32))  # type: ignore[arg-type]


def test_two_shapes_that_differ() -> None:
    g = GraphBuilder(opset=21)
    assert g.input("x", FLOAT["N"], ("N",)).shape == ("N",)
    with pytest.raises(OnnxwrightError, match="OW548"):
        g.input("y", FLOAT["N"], (2,))


# -- arrays ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FLOAT, DOUBLE, FLOAT16, INT64])
def test_arrays_take_the_type_of_what_they_meet(kind: Any) -> None:
    g = GraphBuilder(opset=21)
    x = g.input("x", kind["N", 3])
    whole = np.array([1, 2, 3])
    results = [x + whole, whole * x, g.op.Add(whole, x), g.op.Max(x, whole, np.int32(2))]
    if kind is not INT64:
        results += [x - np.ones(3), g.op.Where(x > 0, np.zeros((1, 3)), x)]
    for n, value in enumerate(results):
        assert value.dtype is x.dtype
        g.output(value, f"y{n}")
    array = X.astype(x.dtype.numpy)
    np.testing.assert_array_equal(run(g, x=array)[0], array + whole)


def test_fractions_do_not_become_integers() -> None:
    g = GraphBuilder(opset=21)
    x = g.input("x", INT64["N"])
    with pytest.raises(OnnxwrightError, match="OW401"):
        x + np.array([0.5])
    y = g.input("y", UINT8["N"])
    with pytest.raises(OnnxwrightError, match="300"):
        y + np.array([300])


def test_tensors_that_track_gradients() -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 3])
    g.output(g.op.Gemm(x, layer.weight, layer.bias, transB=1), "y")
    g.output(x @ layer.weight.t(), "z")
    expected = layer(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(run(g, x=X)[0], expected, rtol=1e-5, atol=1e-6)


# -- functions and graphs --------------------------------------------------------------------------


def test_a_graph_of_another_domains_operator_is_inlined() -> None:
    body = oh.make_graph(
        [oh.make_node("Add", ["x", "k"], ["z"])],
        "body",
        [oh.make_tensor_value_info("k", onnx.TensorProto.FLOAT, ["N"])],
        [oh.make_tensor_value_info("z", onnx.TensorProto.FLOAT, ["N"])],
    )
    node = oh.make_node("Map", ["x"], ["y"], domain="other", body=body, all=[body, body])
    imports = [oh.make_opsetid("", 21), oh.make_opsetid("other", 1)]
    function = oh.make_function("my", "f", ["x"], ["y"], [node], imports)
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N"])
    g.output(g.call(function, g.op.Relu(x), inline=True), "y", FLOAT["N"])
    model = g.to_model_proto()
    relu, other = model.graph.node
    graphs = [other.attribute[0].g] if other.attribute[0].HasField("g") else []
    graphs += [g for a in other.attribute for g in a.graphs]
    assert len(graphs) + sum(a.HasField("g") for a in other.attribute[1:]) == 3
    for graph in graphs:
        (add,) = graph.node
        assert list(add.input) == [relu.output[0], graph.input[0].name]


def test_inlined_functions_are_no_part_of_the_model() -> None:
    """Their own version of the opset then does not matter."""
    node = oh.make_node("ReduceSum", ["x"], ["y"], axes=[0], keepdims=0)
    function = oh.make_function("my", "f", ["x"], ["y"], [node], [oh.make_opsetid("", 11)])
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 3])
    g.output(g.call(function, x, inline=True), "y")
    assert not g.functions
    np.testing.assert_array_equal(run(g, x=X)[0], X.sum(0))


def test_a_loop_with_a_block_keeps_what_does_not_change() -> None:
    g = GraphBuilder(opset=21)
    x, n = g.input("x", FLOAT["N", 3]), g.input("n", INT64[()])
    with g.subgraph("body") as body:
        body.input("i", INT64[()])
        go = body.input("go", BOOL[()])
        total = body.input("total", FLOAT["N", 3])
        body.output(go, total + x)
    y = g.node("Loop", [n, None, x], {"body": body.graph})
    assert y.shape == ("N", 3)
    g.output(y, "y")
    np.testing.assert_array_equal(run(g, x=X, n=np.array(3))[0], 4 * X)


def test_attribute_parameters_are_for_functions() -> None:
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N"])
    g.output(g.op.LeakyRelu(x, alpha=g.attribute("alpha", "FLOAT", 0.1)), "y")
    with pytest.raises(OnnxwrightError, match="OW550"):
        g.to_model_proto()
    assert list(g.to_function_proto("my", "f").attribute_proto)[0].name == "alpha"


def test_a_rank_that_is_not_known_is_no_error() -> None:
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT)
    g.output(g.op.Relu(x), "y")
    np.testing.assert_array_equal(run(g, x=X)[0], X)
    assert not g.to_model_proto().graph.output[0].type.tensor_type.HasField("shape")


def test_a_wrong_call_shows_the_signature() -> None:
    g = GraphBuilder(opset=21)
    x, n = g.input("x", FLOAT["N"]), g.input("n", INT64["N"])
    with pytest.raises(OnnxwrightError) as caught:
        g.op.Add(g.op.Relu(x, outputs=["h"]), n)
    assert "Add(A: T, B: T) -> C: T" in str(caught.value)
    assert "h: FLOAT[N] = Relu(x)" in str(caught.value)


def test_a_function_brings_along_what_it_calls() -> None:
    inner = GraphBuilder(opset=21)
    inner.output(inner.op.Relu(inner.input("a")), "b")
    outer = GraphBuilder(opset=21)
    outer.output(outer.call(inner.to_ir_function("d", "inner"), outer.input("a")) + 1.0, "b")
    function = outer.to_ir_function("d", "outer")
    for inline, names in ((False, ["inner", "outer"]), (True, [])):
        g = GraphBuilder(opset=21)
        x = g.input("x", FLOAT["N", 3])
        g.output(g.call(function, x, inline=inline), "y")
        assert [f.name for f in g.to_model_proto().functions] == names
        np.testing.assert_array_equal(run(g, x=X)[0], X + 1)


def test_plain_functions_are_called() -> None:
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 3])
    with_op = g.call(lambda v, op, scale=2.0: op.Relu(v) * scale, x, scale=3.0)
    g.output(g.call(lambda v: v + 1, with_op), "y")
    np.testing.assert_array_equal(run(g, x=X)[0], 3 * X + 1)
    h = GraphBuilder(opset=21)
    z = h.input("z", FLOAT)
    for nothing in (5, None):
        with pytest.raises(OnnxwrightError, match="cannot be called"):
            h.call(nothing, z)


def test_names_of_types_and_of_outputs() -> None:
    g = GraphBuilder(opset=21)
    x = g.input("x", "FLOAT", ("N", 3))
    g.op.Relu(x, outputs=["h"])
    g.output("h")
    assert str(x.kind) == "FLOAT[N, 3]"
    np.testing.assert_array_equal(run(g, x=-X)[0], np.maximum(-X, 0))
    with pytest.raises(OnnxwrightError, match="OW541"):
        GraphBuilder(opset=21).output("nothing")
