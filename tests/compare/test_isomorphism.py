"""`assert_isomorphic`: blind to names of intermediates and to order, strict on everything else."""

# ruff: noqa: E501 - a graph is one line

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper, parser

from onnxwright.testing.isomorphism import assert_isomorphic, find_difference
from tests.harness.tables import each

HEAD = '<ir_version: 10, opset_import: ["" : 18, "d" : 1]>\n'
MODEL = (
    HEAD
    + """
main (float[N, 2] x, float[N, 2] z) => (float[N, 2] y)
<float[2] w = {1.0, 2.0}>
{
    a = Relu(x)
    b = Neg(z)
    c = Add(a, b)
    cond = Constant<value = bool {1}>()
    e = If(cond)<
        then_branch = t () => (float[N, 2] p) { p = Mul(c, w) },
        else_branch = f () => (float[N, 2] q) { q = d.twice<k = 3>(c) }
    >
    y = Identity(e)
}
<domain: "d", opset_import: ["" : 18]>
twice <k> (x) => (y) { y = Add(x, x) }
"""
)


def model() -> onnx.ModelProto:
    return parser.parse_model(MODEL)


def graph(body: str) -> onnx.GraphProto:
    return parser.parse_graph(f"g (float[2] x, float[2] z) => (float[2] y) {{ {body} }}")


EQUAL = [
    ("y = Relu(x)", "y = Relu(x)"),
    ("a = Relu(x) y = Neg(a)", "b = Relu(x) y = Neg(b)"),
    ("a = Relu(x) b = Neg(z) y = Add(a, b)", "b = Neg(z) a = Relu(x) y = Add(a, b)"),
    ("y = Neg(x) a = Relu(z)", "b = Relu(z) y = Neg(x)"),
    ("y = Neg(x) a = Relu(z) b = Relu(z) c = Add(a, b)", "y = Neg(x) p = Relu(z) q = Relu(z) r = Add(p, q)"),
    ("y = Clip(x, , z)", "y = Clip(x, , z)"),
    ("y = Clip(x, z, )", "y = Clip(x, z)"),
    ("y = Softmax<axis = 1>(x)", "y = Softmax<axis = 1>(x)"),
    ("a, b = Split<num_outputs = 2>(x) y = Add(a, b)", "c, d = Split<num_outputs = 2>(x) y = Add(c, d)"),
]  # fmt: skip
DIFFERENT = [
    ("y = Relu(x)", "y = Neg(x)", "operator"),
    ("y = Add(x, z)", "y = Add(z, x)", "comes from elsewhere"),
    ("y = Sub(x, z)", "y = Sub(x, x)", "comes from elsewhere"),
    ("y = Softmax<axis = 1>(x)", "y = Softmax<axis = 0>(x)", "attribute `axis` of Softmax"),
    ("y = Softmax<axis = 1>(x)", "y = Softmax(x)", "attribute `axis`"),
    ("y = Neg(x) a = Relu(x)", "y = Neg(x)", "no partner"),
    ("y = Neg(x)", "y = Neg(x) a = Relu(x)", "an extra node"),
    ("a = Relu(x) b = Relu(x) y = Add(a, b)", "a = Relu(x) y = Add(a, a)", "shared"),
    ("a = Relu(x) y = Add(a, a)", "a = Relu(x) b = Relu(x) y = Add(a, b)", "one to one|shared"),
    ("y = Neg(x) a = Relu(z) b = Relu(z) c = Add(a, b) d = Add(a, a)",
     "y = Neg(x) a = Relu(z) b = Relu(z) c = Add(a, b) d = Add(b, a)", "no partner"),
    ("a, b = Split<num_outputs = 2>(x) y = Sub(a, b)",
     "a, b = Split<num_outputs = 2>(x) y = Sub(b, a)", "which output"),
    ("y = Clip(x, , z)", "y = Clip(x, z)", "inputs of Clip"),
    ("y = Mul(x, nothing)", "y = Mul(x, nobody)", "an undefined name"),
]  # fmt: skip


@each(("a", "b"), EQUAL)
def test_equal_graphs_are_isomorphic(a: str, b: str) -> None:
    assert_isomorphic(graph(a), graph(b))


@each(("a", "b", "what"), DIFFERENT)
def test_a_difference_is_named(a: str, b: str, what: str) -> None:
    with pytest.raises(AssertionError, match=what):
        assert_isomorphic(graph(a), graph(b))


def test_a_message_shows_the_place() -> None:
    """The first difference, with the way to it and both sides."""
    other = model()
    other.graph.node[4].attribute[0].g.node[0].op_type = "Div"
    found = str(find_difference(model(), other))
    assert "an operator differs" in found
    assert "`then_branch` of If" in found or "`else_branch` of If" in found
    assert "p = Mul(c, w)" in found
    assert "p = Div(c, w)" in found


def _set(path: str, value: object) -> Callable[[onnx.ModelProto], None]:
    def change(m: onnx.ModelProto) -> None:
        owner: object = m
        *steps, last = path.split(".")
        for step in steps:
            owner = owner[int(step)] if step.isdigit() else getattr(owner, step)  # type: ignore[index]
        setattr(owner, last, value)

    return change


def _metadata(m: onnx.ModelProto) -> None:
    m.graph.node[0].metadata_props.add(key="k", value="v")


def _value_info(m: onnx.ModelProto) -> None:
    m.graph.value_info.add().CopyFrom(helper.make_tensor_value_info("a", 1, ["N", 2]))


def _initializer(m: onnx.ModelProto) -> None:
    m.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([1, 3], np.float32), "w"))


def _initializer_name(m: onnx.ModelProto) -> None:
    m.graph.initializer[0].name = "v"
    m.graph.node[4].attribute[0].g.node[0].input[1] = "v"


def _default(m: onnx.ModelProto) -> None:
    del m.functions[0].attribute[:]
    m.functions[0].attribute_proto.add().CopyFrom(helper.make_attribute("k", 1))


CHANGES: dict[str, tuple[Callable[[onnx.ModelProto], None], str]] = {
    "ir version": (_set("ir_version", 9), "ir_version"),
    "opset": (_set("opset_import.0.version", 17), "opset_imports"),
    "producer": (_set("producer_name", "p"), "producer"),
    "model version": (_set("model_version", 4), "producer"),
    "doc": (_set("doc_string", "d"), "doc_strings"),
    "graph doc": (_set("graph.doc_string", "d"), "doc_strings"),
    "node doc": (_set("graph.node.0.doc_string", "d"), "doc_strings"),
    "input doc": (_set("graph.input.0.doc_string", "d"), "doc_strings"),
    "graph name": (_set("graph.name", "other"), "graph_names"),
    "input type": (_set("graph.input.0.type.tensor_type.elem_type", 11), "types"),
    "dimension": (_set("graph.input.0.type.tensor_type.shape.dim.0.dim_param", "M"), "types"),
    "metadata": (_metadata, "metadata"),
    "value info": (_value_info, "value_infos"),
    "numbers": (_initializer, "initializers"),
    "initializer name": (_initializer_name, "initializer_names"),
    "function body": (_set("functions.0.node.0.op_type", "Sub"), "functions"),
    "function doc": (_set("functions.0.doc_string", "d"), "doc_strings"),
    "default": (_default, "functions"),
    "attribute": (_set("graph.node.4.attribute.1.g.node.0.attribute.0.i", 4), "attributes"),
}


@each("name", CHANGES)
def test_each_part_is_compared_unless_switched_off(name: str) -> None:
    """A change is found; the keyword of its part makes it disappear."""
    change, part = CHANGES[name]
    other = model()
    change(other)
    assert find_difference(model(), other) is not None
    assert find_difference(other, model()) is not None
    assert find_difference(model(), other, **{part: False}) is None


def _node_name(m: onnx.ModelProto) -> None:
    m.graph.node[0].name = "named"


def _subgraph_name(m: onnx.ModelProto) -> None:
    m.graph.node[4].attribute[0].g.name = "named"


def _input_renamed(m: onnx.ModelProto) -> None:
    m.graph.input[0].name = m.graph.node[0].input[0] = "renamed"


@pytest.mark.parametrize(
    ("change", "part"), [(_node_name, "node_names"), (_subgraph_name, "subgraph_names")]
)
def test_names_of_nodes_and_subgraphs_count_on_request(
    change: Callable[[onnx.ModelProto], None], part: str
) -> None:
    other = model()
    change(other)
    assert find_difference(model(), other) is None
    assert find_difference(model(), other, **{part: True}) is not None


def test_names_of_inputs_count() -> None:
    other = model()
    _input_renamed(other)
    assert "inputs differs" in str(find_difference(model(), other))
    assert find_difference(model(), other, io_names=False) is None


def test_commutative_operands_on_request() -> None:
    a = graph("a = Relu(x) b = Neg(z) c = Mul(a, b) y = Add(c, a)")
    b = graph("a = Relu(x) b = Neg(z) c = Mul(b, a) y = Add(a, c)")
    assert find_difference(a, b) is not None
    assert find_difference(a, b, commutative=True) is None
    swapped = graph("a = Relu(x) b = Neg(z) c = Mul(b, a) y = Sub(a, c)")
    assert find_difference(a, swapped, commutative=True) is not None


def test_how_numbers_are_stored_does_not_matter() -> None:
    a, b = model(), model()
    del b.graph.initializer[:]
    b.graph.initializer.add().CopyFrom(helper.make_tensor("w", 1, [2], [1.0, 2.0]))
    a.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    assert_isomorphic(a, b)


def test_the_bits_of_numbers_matter() -> None:
    """Zero and minus zero differ, a NaN is itself."""

    def one(number: float) -> onnx.GraphProto:
        g = graph("y = Relu(x)")
        tensor = numpy_helper.from_array(np.array([number], np.float32), "w")
        g.initializer.add().CopyFrom(tensor)
        return g

    assert find_difference(one(0.0), one(-0.0)) is not None
    assert find_difference(one(float("nan")), one(float("nan"))) is None


def test_the_bits_of_attributes_matter_where_weights_do_not() -> None:
    """Messages with 0.0 and -0.0 are equal for protobuf."""
    text = HEAD + "main (float[N] x) => (float[N] y) <float[1] w = {{1.0}}> "
    text += "{{ a = Elu<alpha = {0}>(x) y = Mul(a, w) }}"
    zero, minus = (parser.parse_model(text.format(number)) for number in ("0.0", "-0.0"))
    assert find_difference(zero, minus, initializers=False) is not None
    other = parser.parse_model(text.format("0.0").replace("1.0", "2.0"))
    assert find_difference(zero, other, initializers=False) is None
    assert find_difference(zero, other) is not None


def test_objects_of_onnx_ir_are_taken() -> None:
    m = model()
    found = ir.from_proto(m)
    assert_isomorphic(found, m)
    assert_isomorphic(found.graph, m.graph)
    (function,) = found.functions.values()
    assert_isomorphic(function, m.functions[0])


def test_different_kinds_are_different() -> None:
    assert "kinds" in str(find_difference(model(), model().graph))
    with pytest.raises(TypeError, match="not 1 of type `int`"):
        assert_isomorphic(1, 2)
    with pytest.raises(TypeError, match="unknown keyword `names`"):
        assert_isomorphic(model(), model(), names=False)


def _chain(count: int, prefix: str, dead: int = 0) -> onnx.GraphProto:
    nodes, before = [], "x"
    for n in range(count):
        reads = [before] if n % 3 < 2 else [before, before]
        nodes.append(helper.make_node(("Relu", "Neg", "Add")[n % 3], reads, [f"{prefix}{n}"]))  # noqa: TID251
        before = f"{prefix}{n}"
    nodes.append(helper.make_node("Relu", [before], ["y"]))  # noqa: TID251
    nodes += [helper.make_node("Relu", ["x"], [f"{prefix}d{n}"]) for n in range(dead)]  # noqa: TID251
    x, y = (helper.make_tensor_value_info(name, 1, [2]) for name in "xy")
    return helper.make_graph(nodes, "g", [x], [y])


@pytest.mark.parametrize("commutative", [False, True])
def test_thousands_of_nodes_need_no_recursion(commutative: bool) -> None:
    assert_isomorphic(_chain(3_000, "a"), _chain(3_000, "b"), commutative=commutative)


def test_many_equal_dead_nodes_are_matched() -> None:
    assert_isomorphic(_chain(10, "a", dead=300), _chain(10, "b", dead=300))
    assert find_difference(_chain(10, "a", dead=300), _chain(10, "b", dead=299)) is not None


def test_looks_alike_everywhere_but_is_not_the_same() -> None:
    """Two triangles and a hexagon of dead nodes: colours cannot tell them apart, the search can."""

    def ring(edges: list[tuple[int, int]]) -> onnx.GraphProto:
        sources = " ".join(f"s{n} = Relu(x)" for n in range(6))
        links = " ".join(f"e{n} = Add(s{i}, s{j})" for n, (i, j) in enumerate(edges))
        return graph(f"y = Neg(x) {sources} {links}")

    triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    hexagon = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    turned = [(2, 3), (3, 4), (4, 5), (5, 0), (0, 1), (1, 2)]
    assert find_difference(ring(triangles), ring(hexagon)) is not None
    assert find_difference(ring(hexagon), ring(turned)) is None
