"""Models in a builder: opened, called as parts, run unfinished; nodes as written, module paths."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import onnxwright as ow
from onnxwright import BOOL, FLOAT, INT64, STRING, GraphBuilder, OnnxwrightError, Opset, script
from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.testing import assert_isomorphic

HEAD = '<ir_version: 10, opset_import: ["" : 21{more}]>'
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def parsed(text: str, more: str = "") -> onnx.ModelProto:
    """A model from its text."""
    return parser.parse_model(HEAD.replace("{more}", more) + text)


BRANCHES = parsed(
    "m (float[N, 3] x, bool c) => (float[N, 3] y) {"
    " y = If (c) <then_branch = t () => (float[N, 3] a) { b = Exp(x)  dead = Neg(b)  a = Abs(b) },"
    " else_branch = e () => (float[N, 3] a) { a = Identity(x) }> }"
)
LOOP = parsed(
    "m (float[N, 3] x, int64 n) => (float[N, 3] y) <float[3] w = {1, 2, 3}, float[2] unused = "
    "{5, 6}> { y = Loop (n, , x) <body = b (int64 i, bool go, float[N, 3] s) => (bool o, "
    "float[N, 3] r) { o = Identity(go)  r = Add(s, w) }>  nobody = Neg(y) }"
)
CALLS = parsed(
    "m (float[N, 3] x) => (float[N, 3] y) { y = my.twice(x) } "
    '<domain: "my", opset_import: ["" : 21]> twice (a) => (b) { b = Add(a, a) }',
    ', "my" : 1',
)
THRICE = parsed(
    "m (float[N, 3] x) => (float[N, 3] y) { y = my.twice(x) } "
    '<domain: "my", opset_import: ["" : 21]> twice (a) => (b) { h = Add(a, a)  b = Add(a, h) }',
    ', "my" : 1',
)
WEIGHT = parsed("m (float[K, 3] a) => (float[K, 2] b) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> "
                "{ b = MatMul(a, w) }")  # fmt: skip


# -- from_model ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [BRANCHES, LOOP, CALLS, WEIGHT], ids=range(4))
def test_an_opened_model_is_the_same_model(model: onnx.ModelProto) -> None:
    """Dead nodes, weights that nothing reads, names and types, in bodies too."""
    model.doc_string, model.model_version = "a model", 3
    model.metadata_props.add(key="who", value="me")
    model.graph.metadata_props.add(key="where", value="here")
    reopened = GraphBuilder.from_model(model).to_model_proto()
    reopened.producer_version = model.producer_version
    assert str(reopened) == str(model) or assert_isomorphic(reopened, model) is None
    assert [n.name for n in reopened.graph.initializer] == [n.name for n in model.graph.initializer]
    assert len(reopened.graph.node) == len(model.graph.node)
    assert reopened.metadata_props == model.metadata_props
    assert reopened.graph.metadata_props == model.graph.metadata_props
    assert (reopened.doc_string, reopened.model_version) == (model.doc_string, 3)


def test_nodes_are_added_to_an_opened_model(tmp_path: Path) -> None:
    """Values by name, outputs kept, removed and added; weights in a file stay there."""
    path = tmp_path / "m.onnx"
    model = onnx.ModelProto.FromString(WEIGHT.SerializeToString())
    raw = numpy_helper.from_array(numpy_helper.to_array(model.graph.initializer[0]), "w")
    model.graph.initializer[0].CopyFrom(raw)
    onnx.save(model, path, save_as_external_data=True, size_threshold=0, location="m.data")
    g = GraphBuilder.from_model(path)
    assert list(g.inputs) == ["a"]
    assert list(g.outputs) == ["b"]
    hidden = g.value("b")
    assert hidden.shape == ("K", 2)
    scale = g.input("scale", FLOAT[2])
    g.output(hidden * scale, "scaled")
    g.remove_output("b")
    with pytest.raises(OnnxwrightError, match="OW541"):
        g.remove_output("b")
    ir_model = g.to_ir_model()
    assert isinstance(ir_model.graph.initializers["w"].const_value, ir.ExternalTensor)
    output = CompiledModel(ir_model)(X, np.array([1, 10], np.float32))
    w = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose(output, X @ w * [1, 10])


def test_names_of_an_opened_model_are_taken() -> None:
    """Also those inside of bodies; a new name for one that was found gives way."""
    g = GraphBuilder.from_model(BRANCHES)
    for name in ("x", "y"):
        with pytest.raises(OnnxwrightError, match="OW544"):
            g.input(name, FLOAT[2])
    g.output(g.op.Neg(g.value("y"), outputs=["a"]), "z")
    model = CompiledModel(g.to_model_proto())
    assert model.output_names == ("y", "z")
    np.testing.assert_allclose(model(X, np.array(True))[1], -np.exp(X), rtol=1e-6)


def test_a_default_of_an_input_stays() -> None:
    """An initializer that is an input."""
    model = parsed("m (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> "
                   "{ y = Mul(x, w) }")  # fmt: skip
    assert [i.name for i in model.graph.input] == ["x", "w"]
    g = GraphBuilder.from_model(model)
    g.output(g.value("y") + 1, "z")
    proto = g.to_model_proto()
    assert [i.name for i in proto.graph.input] == ["x", "w"]
    assert [i.name for i in proto.graph.initializer][-1] == "w"


@pytest.mark.parametrize("bad", [3, None, b"nonsense", "/nowhere/model.onnx"])
def test_what_is_not_a_model_cannot_be_opened(bad: Any) -> None:
    """A located error."""
    with pytest.raises((OnnxwrightError, OSError)):
        GraphBuilder.from_model(bad)


# -- parts -----------------------------------------------------------------------------------------


def test_one_model_is_two_parts() -> None:
    """Weights, values and names of sizes are kept apart."""
    g = GraphBuilder(opset=21)
    w, x = g.input("w", FLOAT["N", 3]), g.input("K", FLOAT["M", 3])
    first, second = g.call(WEIGHT, w), g.call(WEIGHT, a=x)
    assert (first.shape, second.shape) == (("N", 2), ("M", 2))
    g.output(first, "b")
    g.output(second, "b2")
    model = g.to_model_proto()
    assert len({t.name for t in model.graph.initializer} | {"w", "K"}) == 4
    outputs = CompiledModel(model)(X, X[:1])
    weight = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose(outputs[0], X @ weight)
    np.testing.assert_allclose(outputs[1], X[:1] @ weight)


@pytest.mark.parametrize("fold", [True, False])
def test_bodies_and_functions_come_along(fold: bool) -> None:
    """Different functions of one name are two."""
    g = GraphBuilder(opset=21, fold=fold)
    x, c, n = g.input("x", FLOAT[2, 3]), g.input("c", BOOL[()]), g.input("n", INT64[()])
    y = g.call(LOOP, g.call(BRANCHES, "x", "c"), n)
    g.output(g.call(CALLS, y), "two")
    g.output(g.call(THRICE, y), "three")
    g.output(g.call(CALLS, x), "again")
    model = g.to_model_proto()
    assert sorted(f.name for f in model.functions) == ["twice", "twice_1"]
    for choice in (True, False):
        two, three, again = CompiledModel(model)(X, np.array(choice), np.array(2))
        start = np.exp(X) if choice else X
        np.testing.assert_allclose(two, 2 * (start + [2, 4, 6]), rtol=1e-6)
        np.testing.assert_allclose(three, 3 * (start + [2, 4, 6]), rtol=1e-6)
        np.testing.assert_allclose(again, 2 * X)


def test_a_part_of_another_opset_is_converted() -> None:
    """ReduceSum of opset 11 has its axes as an attribute."""
    old = parser.parse_model('<ir_version: 7, opset_import: ["" : 11]> m (float[N, 3] x) => '
                             "(float[N] y) { y = ReduceSum<axes=[1], keepdims=0>(x) }")  # fmt: skip
    g = GraphBuilder(opset=21)
    g.output(g.call(old, g.input("x", FLOAT["N", 3])), "y")
    np.testing.assert_allclose(CompiledModel(g.to_model_proto())(X), X.sum(1))


def test_what_is_known_flows_into_a_part() -> None:
    """A condition that is known chooses the branch; arrays and numbers are arguments."""
    g = GraphBuilder(opset=21)
    y = g.call(BRANCHES, g.input("x", FLOAT[2, 3]), c=np.array(False))
    assert y.value is g.value("x").value
    assert g.call(WEIGHT, X).shape == (2, 2)


MISCALLS = {
    "too many": (lambda g: g.call(WEIGHT, "x", "x"), "takes 1 inputs, 2 were given"),
    "too few": (lambda g: g.call(BRANCHES, "x"), "needs a value for its input `c`"),
    "no such input": (lambda g: g.call(WEIGHT, "x", q="x"), "has no input `q`"),
    "twice": (lambda g: g.call(WEIGHT, "x", a="x"), "has two values"),
    "another type": (lambda g: g.call(WEIGHT, "i"), "takes FLOAT.K, 3. as `a`, and INT64"),
    "another size": (lambda g: g.call(WEIGHT, "wide"), "FLOAT.N, 4. is given"),
    "no such value": (lambda g: g.call(WEIGHT, "y"), "no value of this graph is called `y`"),
    "sizes that differ": (
        lambda g: g.call(
            parsed("m (float[A] p, float[A] q) => (float[A] r) { r = Add(p, q) }"), "two", "five"
        ),
        "takes FLOAT.A. as `q`, and FLOAT.5.",
    ),
}


@pytest.mark.parametrize("name", MISCALLS)
def test_wrong_arguments_of_a_part_are_errors(name: str) -> None:
    """With the place and the inputs of the model."""
    call, said = MISCALLS[name]
    g = GraphBuilder(opset=21)
    g.input("x", FLOAT["N", 3])
    g.input("i", INT64["N", 3])
    g.input("wide", FLOAT["N", 4])
    g.input("two", FLOAT[2])
    g.input("five", FLOAT[5])
    with pytest.raises(OnnxwrightError, match=said) as caught:
        call(g)
    assert "test_models_in_builders.py:" in str(caught.value)


# -- run -------------------------------------------------------------------------------------------


def test_an_unfinished_graph_is_run() -> None:
    """Any value, with only the inputs that it needs, given by name; more is added afterwards."""
    g = GraphBuilder(opset=21)
    x, n = g.input("x", FLOAT["N", 3]), g.input("n", INT64[()])
    w = g.initializer(np.ones((3, 2), np.float32), "w")
    h = g.op.MatMul(x, w, outputs=["h"])
    (total,) = (g.op.Loop(n, None, h, body=lambda i, go, s: (go, s + h)),)
    np.testing.assert_allclose(g.run({"x": X}, h), X @ np.ones((3, 2)))
    one, two = g.run({"x": X, "n": np.array(2)}, "h", total)
    np.testing.assert_allclose(two, 3 * one)
    np.testing.assert_allclose(g.run({"h": one, "n": np.array(1)}, total), 2 * one)
    assert list(g.run({"x": X, "n": np.array(0)})) == [total.value.name]
    g.output(g.op.Neg(total), "y")
    (negated,) = g.run({"x": X, "n": np.array(0)}).values()
    np.testing.assert_allclose(negated, -one)
    assert [v.name for v in g.to_model_proto().graph.output] == ["y"]
    np.testing.assert_allclose(CompiledModel(g.to_model_proto())(X, np.array(0)), -one)


def test_values_of_a_body_are_run() -> None:
    """While the body is built, with what it has as inputs given."""
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT[3])
    with g.subgraph("body") as body:
        i = body.input("i", INT64[()])
        y = x + g.op.Cast(i, to=FLOAT)
        array = g.run({"x": X[0], "i": np.array(4)}, y)
        body.output(y)
    np.testing.assert_allclose(array, X[0] + 4)


def test_functions_are_run() -> None:
    """Those that a node calls, and those that these call."""

    @script(Opset("my.domain", 1))
    def shifted(x: FLOAT) -> FLOAT:
        return ow.opset21.Relu(x) + 1.0

    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 3])
    y = g.call(CALLS, g.call(shifted, x))
    np.testing.assert_allclose(g.run({"x": X}, y), 2 * (np.maximum(X, 0) + 1))


def test_outputs_are_run_by_name_and_values_given_as_keys() -> None:
    """Before the model is made and after."""
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N"])
    g.output(x + 1, "y")
    for _ in range(2):
        np.testing.assert_allclose(g.run({x: X[0]}, "y"), X[0] + 1)
        np.testing.assert_allclose(g.run({"x": X[0]})["y"], X[0] + 1)
        g.to_model_proto()


def test_another_builder_is_a_part() -> None:
    """Its model is."""
    part = GraphBuilder(opset=21)
    part.output(part.op.Exp(part.input("x", FLOAT["N"])), "y")
    g = GraphBuilder(opset=21)
    y = g.call(part, g.input("x", FLOAT["N"]))
    np.testing.assert_allclose(g.run({"x": X[0]}, y), np.exp(X[0]), rtol=1e-6)


def test_wrong_inputs_of_a_run_are_errors() -> None:
    """Names of nothing, missing and of another type; nothing to run."""
    with pytest.raises(OnnxwrightError, match="OW545"):
        GraphBuilder(opset=21).run({})
    f = GraphBuilder(opset=21)
    leaky = f.op.LeakyRelu(f.input("x"), alpha=f.attribute("alpha", "FLOAT", 0.1))
    with pytest.raises(OnnxwrightError, match="OW550"):
        f.run({"x": X}, leaky)
    with pytest.raises(TypeError, match="arrays by name"):
        f.run([X], leaky)
    g = GraphBuilder(opset=21)
    y = g.op.Neg(g.input("x", FLOAT["N"]))
    for feeds, code in (({"z": X}, "OW541"), ({}, "OW621"), ({"x": np.array([1])}, "OW621")):
        with pytest.raises(OnnxwrightError, match=code):
            g.run(feeds, y)
    with pytest.raises(OnnxwrightError, match="OW541"):
        g.run({"x": X}, "w")


# -- nodes as they are written ---------------------------------------------------------------------


def test_without_folding_each_call_is_a_node() -> None:
    """Constants, identities, equal calls, known branches and what nothing reads."""
    g = GraphBuilder(opset=21, fold=False)
    x, op = g.input("x", FLOAT[2, 3]), g.op
    one = op.Constant(value_floats=[1.0, 2.0, 3.0])
    assert one.constant is not None
    op.Neg(x)
    same = op.Cast(op.Identity(x), to=FLOAT)
    both = op.Add(op.Exp(same), op.Exp(same)) * one
    shape = op.Shape(both)
    assert shape.dims == (2, 3)
    picked = op.If(np.array(True), then_branch=lambda: op.Relu(both), else_branch=lambda: x)
    g.output(op.Reshape(picked, shape), "y")
    kinds = [n.op_type for n in g.to_model_proto().graph.node]
    assert kinds == ["Constant", "Neg", "Identity", "Cast", "Exp", "Exp", "Add", "Mul", "Shape",
                     "If", "Reshape"]  # fmt: skip
    (output,) = ReferenceEvaluator(g.to_model_proto()).run(None, {"x": X})
    np.testing.assert_allclose(output, 2 * np.exp(X) * [1, 2, 3], rtol=1e-6)


def test_what_is_added_to_an_opened_model_folds_or_not() -> None:
    """As the builder is asked."""
    for fold, expected in ((True, ["MatMul"]), (False, ["MatMul", "Identity"])):
        g = GraphBuilder.from_model(WEIGHT, fold=fold)
        g.op.Identity(g.value("b"))
        assert [n.op_type for n in g.to_model_proto().graph.node] == expected


# -- module paths ----------------------------------------------------------------------------------


def props(node: onnx.NodeProto) -> dict[str, str]:
    """The metadata of a node by the last part of its key."""
    return {p.key.rsplit(".", 1)[-1]: p.value for p in node.metadata_props}


def test_scopes_are_module_paths() -> None:
    """As exports have them; in bodies too, and those of a part inside of the graph's."""

    class Block:
        pass

    inner = GraphBuilder(opset=21)
    with inner.scope("mlp", "my.MLP"):
        inner.output(inner.op.Relu(inner.input("x", FLOAT["N"]), name="act"), "y")
    part = inner.to_model_proto()
    g = GraphBuilder(opset=21)
    x, c = g.input("x", FLOAT["N"]), g.input("c", BOOL[()])
    before = g.op.Abs(x)
    with g.scope("layers.0", Block):
        h = g.op.If(c, then_branch=lambda: g.op.Exp(before), else_branch=lambda: before)
        with g.scope("attn"):
            h = h * 2
        y = g.call(part, h)
    g.output(g.op.Neg(y), "y")
    nodes = {n.op_type: props(n) for n in g.to_model_proto().graph.node}
    assert list(nodes) == ["Abs", "If", "Mul", "Relu", "Neg"]
    assert nodes["Abs"] == nodes["Neg"] == {}
    name = f"{Block.__module__}.{Block.__qualname__}"
    assert ast.literal_eval(nodes["Mul"]["name_scopes"]) == ["layers.0", "layers.0.attn", "mul"]
    assert ast.literal_eval(nodes["Mul"]["class_hierarchy"]) == [name, "", "Mul"]
    assert nodes["Mul"]["namespace"] == f"layers.0: {name}/layers.0.attn/mul: Mul"
    assert ast.literal_eval(nodes["Relu"]["name_scopes"]) == ["layers.0", "layers.0.mlp", "act"]
    assert ast.literal_eval(nodes["Relu"]["class_hierarchy"]) == [name, "my.MLP", "Relu"]
    with pytest.raises(OnnxwrightError, match="OW549"), g.scope(""):
        pass


# -- types and names -------------------------------------------------------------------------------


def test_the_type_of_a_custom_operator_is_given() -> None:
    """One type, or one for each output; a contradiction is an error."""
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 4])
    mine = g.opset("my.domain")
    y = mine.Pool(x, output_types=FLOAT["N", 2])
    assert (y.dtype, y.shape) == (ow.GraphBuilder().input("q", FLOAT).dtype, ("N", 2))
    a, b = mine.Two(y, output_types=[FLOAT["N"], INT64], outputs=["a", "b"])
    assert (str(a.kind), str(b.kind)) == ("FLOAT[N]", "INT64")
    z = g.node("Three", ["a"], domain="my.domain", output_types="float32")
    g.output(g.op.Concat(y, y, axis=1), "out")
    g.output(z, "z")
    assert [o.type.tensor_type.elem_type for o in g.to_model_proto().graph.output] == [1, 1]
    h = GraphBuilder(opset=21)
    x = h.input("x", FLOAT["N", 4])
    assert h.op.Reshape(x, h.input("s", INT64[2]), output_types=FLOAT[3, 5]).shape == (3, 5)
    with pytest.raises(OnnxwrightError, match="OW706"):
        h.op.Relu(x, output_types=INT64)
    with pytest.raises(OnnxwrightError, match="OW546"):
        h.opset("my.domain").Pool(x, outputs=["p"], output_types=[FLOAT, FLOAT])
    with pytest.raises(OnnxwrightError, match="OW548"):
        h.opset("my.domain").Pool(x, output_types="flaot")


def test_texts_are_names_of_values() -> None:
    """Positional and by keyword; texts beside texts stay what they are."""
    g = GraphBuilder(opset=21)
    x, s = g.input("x", FLOAT["N", 3]), g.input("s", STRING["N"])
    g.input("w", FLOAT[3, 2])
    assert g.op.MatMul("x", B="w").value.producer().inputs[0] is x.value
    assert g.op.Equal(s, "w").value.producer().inputs[1].name != "w"
    assert g.op.Concat("x", "x", axis=0).shape == ("2*N", 3)
    g.op.Neg(x, outputs=["hidden"])
    with pytest.raises(OnnxwrightError, match=r"(?s)OW541.*hiden.*did you mean `hidden`"):
        g.op.Relu("hiden")
    assert g.op.Gelu("x", approximate="tanh").shape == ("N", 3)


def test_text_as_an_input_keeps_its_type() -> None:
    """An operator that takes texts only."""
    g = GraphBuilder(opset=21)
    g.output(g.op.StringConcat(g.input("s", STRING["N"]), "!"), "y")
    assert g.to_model_proto().graph.initializer[0].data_type == TensorProto.STRING


def test_an_exported_program_is_a_part_and_is_opened() -> None:
    """Its weights, which are those of the module, and its module paths inside of the graph's."""
    torch = pytest.importorskip("torch", reason="exported programs need torch")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.fc(x))

    net = Net().eval()
    program = ow.export(net, (torch.zeros(4, 3),), dynamic_shapes=({0: "batch"},))
    expected = net(torch.from_numpy(X)).detach().numpy()
    g = GraphBuilder(opset=program.model.graph.opset_imports[""])
    with g.scope("tower"):
        y = g.call(program, g.input("x", FLOAT["N", 3]))
    assert y.shape == ("N", 2)
    np.testing.assert_allclose(g.run({"x": X}, y), expected, rtol=1e-5)
    g.output(y, "y")
    scopes = [props(n).get("name_scopes", "") for n in g.to_model_proto().graph.node]
    assert any("'tower.fc'" in s for s in scopes)
    h = GraphBuilder.from_model(program)
    (name,) = h.outputs
    h.output(h.op.Neg(name), "less")
    compiled = CompiledModel(h.to_ir_model())
    np.testing.assert_allclose(compiled(X)[1], -expected, rtol=1e-5)
