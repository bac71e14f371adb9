"""`diff` matches what belongs together: random graphs, exports that number what they make."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from onnxwright.compare.diffing import diff
from onnxwright.compare.node_origin import module_of, place_of
from onnxwright.compare.subsequences import common, rising
from onnxwright.errors import ModelError
from onnxwright.testing.isomorphism import find_difference
from tests.harness.tables import each


def random_graph(rng: random.Random, count: int) -> onnx.GraphProto:
    """A graph of a few operators, with twins, weights and nodes that read anything before them."""
    values, nodes, weights = ["x", "z"], [], []
    for n in range(count):
        op = rng.choice(["Relu", "Neg", "Add", "Sub", "Mul", "Softmax"])
        inputs = [rng.choice(values[-6:]) for _ in range(2 if op in ("Add", "Sub", "Mul") else 1)]
        if op == "Mul" and rng.random() < 0.5:
            array = np.array([rng.randrange(3), 1], np.float32)
            weights.append(numpy_helper.from_array(array, f"w{n}"))
            inputs[1] = f"w{n}"
        given = {"axis": rng.randrange(2)} if op == "Softmax" else {}
        nodes.append(helper.make_node(op, inputs, [f"v{n}"], **given))  # noqa: TID251
        values.append(f"v{n}")
    info = [helper.make_tensor_value_info(n, 1, [2, 2]) for n in ("x", "z", values[-1])]
    return helper.make_graph(nodes, "g", info[:2], info[2:], weights)


def disguised(rng: random.Random, graph: onnx.GraphProto) -> onnx.GraphProto:
    """The same graph: other names inside, another order of nodes."""
    made = onnx.GraphProto()
    made.CopyFrom(graph)
    kept = {"", "x", "z", *(o.name for o in graph.output), *(t.name for t in graph.initializer)}
    names = {o: f"r{rng.random()}" for node in graph.node for o in node.output if o not in kept}
    for node in made.node:
        node.input[:] = [names.get(i, i) for i in node.input]
        node.output[:] = [names.get(o, o) for o in node.output]
    waiting, known, order = list(made.node), {"x", "z", *(t.name for t in made.initializer)}, []
    while waiting:
        node = rng.choice([n for n in waiting if set(n.input) <= known])
        waiting.remove(node)
        known.update(node.output)
        order.append(node)
    del made.node[:]
    made.node.extend(order)
    return made


def edited(rng: random.Random, graph: onnx.GraphProto) -> onnx.GraphProto:
    """The graph with one edit; it may come out the same."""
    made = onnx.GraphProto()
    made.CopyFrom(graph)
    place = rng.randrange(len(made.node))
    node = made.node[place]
    kind = rng.choice(["operator", "input", "insert", "weight"])
    if kind == "operator":
        node.op_type = {"Relu": "Abs", "Add": "Max", "Sub": "Div"}.get(node.op_type, node.op_type)
    elif kind == "input":
        before = ["x", "z", *(o for n in made.node[:place] for o in n.output)]
        node.input[rng.randrange(len(node.input))] = rng.choice(before)
    elif kind == "insert":
        extra = helper.make_node("Exp", [node.input[0]], ["inserted"])  # noqa: TID251
        node.input[0] = "inserted"
        made.node.insert(place, extra)
    elif made.initializer:
        tensor = made.initializer[rng.randrange(len(made.initializer))]
        tensor.CopyFrom(numpy_helper.from_array(np.array([9, 9], np.float32), tensor.name))
    return made


@each("seed", range(60))
def test_no_difference_is_found_exactly_where_there_is_none(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a case, not a secret
    graph = random_graph(rng, rng.choice([4, 12, 40]))
    other = disguised(rng, graph)
    assert find_difference(graph, other) is None
    assert not diff(graph, other), diff(graph, other).text()
    changed = edited(rng, other)
    found = diff(graph, changed)
    assert bool(found) == (find_difference(graph, changed) is not None), found.text()
    # One edit is a few lines, not a page.
    assert len(found.changes) <= 5, found.text()


def chain(ops: list[str], first: int) -> onnx.GraphProto:
    """A network as an exporter writes it: weights and values are numbered from `first`."""
    rng = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    arrays = {n: rng.normal(size=(4, 4)).astype(np.float32) for n in range(len(ops))}
    for n, op in enumerate(ops):
        number = first + 3 * n
        if op == "MatMul":
            weights.append(numpy_helper.from_array(arrays[n], f"val_{number}"))
        inputs = [value, f"val_{number}"] if op == "MatMul" else [value]
        value = f"val_{number + 1}"
        nodes.append(helper.make_node(op, inputs, [value], name=f"node_{number}"))  # noqa: TID251
    info = [helper.make_tensor_value_info(n, 1, [4, 4]) for n in ("x", value)]
    info[1].name = nodes[-1].output[0] = "y"
    return helper.make_graph(nodes, "g", info[:1], info[1:], weights)


def test_shifted_numbers_are_renames_and_nothing_else() -> None:
    """Names that an exporter counts through belong to other nodes in the other model."""
    ops = ["MatMul", "Relu"] * 6
    found = diff(chain(ops, 0), chain(ops, 6))
    assert {c.kind for c in found.changes} == {"renamed"}
    assert len(found.changes) == 6
    assert "= initializer val_0 -> val_6" in found.text()


def test_one_exchanged_operator_among_shifted_numbers_is_told_once() -> None:
    ops = ["MatMul", "Relu"] * 6
    other = [*ops[:5], "Tanh", *ops[6:]]
    found = diff(chain(ops, 0), chain(other, 6))
    nodes = [(c.kind, c.name.split()[0]) for c in found.changes if c.what == "node"]
    assert nodes == [("removed", "Relu"), ("added", "Tanh"), ("rewired", "MatMul")]


def test_numbers_that_differ_are_counted() -> None:
    one, other = (chain(["MatMul", "MatMul"], 0) for _ in range(2))
    array = numpy_helper.to_array(one.initializer[0]).copy()
    array[0, 0] += 0.5
    other.initializer[0].CopyFrom(numpy_helper.from_array(array, "val_0"))
    (change,) = diff(one, other).changes
    assert change.details == ("1 of 16 numbers in FLOAT[4, 4] differ, by up to 0.5",)


def test_a_constant_that_became_an_initializer_is_one_change() -> None:
    head = '<ir_version: 10, opset_import: ["" : 18]> g (float[2] x) => (float[2] y)'
    left = parser.parse_model(head + "<float[2] c = {1, 2}> { y = Mul(x, c) }")
    right = parser.parse_model(head + "{ k = Constant<value = float[2] {1, 2}>() y = Mul(x, k) }")
    (change,) = diff(left, right).changes
    assert (change.kind, change.what) == ("changed", "initializer")
    assert change.details == ("initializer -> Constant node, c -> k",)
    (change,) = diff(right, left).changes
    assert change.details == ("Constant node -> initializer, k -> c",)


def test_a_default_that_is_written_out_is_told_as_such() -> None:
    text = "g (float[2] x) => (float[2] y) {{ y = Softmax{}(x) }}"
    found = diff(
        parser.parse_graph(text.format("<axis = -1>")), parser.parse_graph(text.format(""))
    )
    assert "attribute axis: -1 -> not there (which means the same)" in found.text()


def external(folder: Path, number: float) -> Path:
    folder.mkdir()
    graph = chain(["MatMul"], 0)
    array = np.full((4, 4), number, np.float32)
    graph.initializer[0].CopyFrom(numpy_helper.from_array(array, "val_0"))
    path = folder / "m.onnx"
    onnx.save(
        helper.make_model(graph), path, save_as_external_data=True, size_threshold=0,
        location="m.data",
    )  # fmt: skip
    return path


def test_external_data_is_compared_by_its_numbers(tmp_path: Path) -> None:
    """Two folders, the same names of files in both: what is in them counts."""
    one, other = external(tmp_path / "a", 1), external(tmp_path / "b", 2)
    again = external(tmp_path / "c", 1)
    assert not diff(one, again)
    assert find_difference(one, again) is None
    (change,) = diff(one, other).changes
    assert change.details == ("16 of 16 numbers in FLOAT[4, 4] differ, by up to 1",)
    assert find_difference(one, other) is not None


def test_what_lies_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    path = external(tmp_path / "a", 1)
    model = onnx.load(path, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = "../secret"
    onnx.save(model, path)
    (tmp_path / "secret").write_bytes(b"x" * 64)
    with pytest.raises(ModelError, match="outside the folder"):
        diff(path, path)


def test_an_attribute_of_a_function_that_came_is_told() -> None:
    text = (
        '<ir_version: 10, opset_import: ["" : 18, "d" : 1]> g (float[2] x) => (float[2] y) '
        '{{ y = d.f(x) }} <domain: "d", opset_import: ["" : 18]> f {}(a) => (b) {{ b = Relu(a) }}'
    )
    found = diff(parser.parse_model(text.format("")), parser.parse_model(text.format("<k> ")))
    assert [(c.kind, c.what, c.name) for c in found.changes] == [("changed", "attribute", "k")]


def test_an_output_that_comes_from_elsewhere_is_told() -> None:
    text = "g (float[2] x) => (float[2] y, float[2] z) {{ a = Relu(x) b = Neg(x) {} }}"
    found = diff(
        parser.parse_graph(text.format("y = Exp(a) z = Log(b)")),
        parser.parse_graph(text.format("z = Exp(a) y = Log(b)")),
    )
    assert found, "the outputs were exchanged"


def test_places_of_nodes() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="/layer.0/act/Relu")  # noqa: TID251
    assert module_of(node) == "layer.0/act"
    node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'b1', 'b1.ff', 'relu']")
    assert module_of(node) == "b1.ff"
    node.metadata_props.add(key="onnxwright.origin", value="/home/a-b/m.py:3:4-3:9")
    assert place_of(node) == "m.py:3"
    for broken in ("[1]", "boom(", "['']", "__import__('os')"):
        node.metadata_props[0].value = broken
        assert module_of(node) == ""


def test_common_subsequences_read_well() -> None:
    assert rising([]) == []
    assert common("", "abc") == []
    assert common(["a", None], ["a", None]) == [(0, 0)]
    left, right = "the cat sat on the mat", "the dog sat on a mat"
    kept = "".join(left[i] for i, _ in common(left, right))
    assert kept.endswith(" sat on") or " sat on " in kept
    for i, k in common(left, right):
        assert left[i] == right[k]


def test_thousands_of_nodes_with_scattered_changes_are_matched() -> None:
    ops = ["MatMul", "Relu", "Neg", "Abs", "Relu"] * 600
    other = ["Tanh" if n % 501 == 4 else op for n, op in enumerate(ops)]
    found = diff(chain(ops, 0), chain(other, 7))
    kinds = [c.kind for c in found.changes if c.what == "node"]
    assert (
        kinds.count("removed")
        == kinds.count("added")
        == sum(a != b for a, b in zip(ops, other, strict=True))
    )


def test_the_page_shows_what_replaced_what_and_every_kind() -> None:
    """What went stands beside what came, with the module; renames have their own colour."""
    ops = ["MatMul", "Relu"] * 6
    left, right = chain(ops, 0), chain([*ops[:5], "Tanh", *ops[6:]], 6)
    for graph in (left, right):
        graph.node[5].metadata_props.add(
            key="pkg.torch.onnx.name_scopes", value="['', 'mlp<1>', 'act']"
        )
    page = diff(left, right).html("a & b")
    (row,) = [line for line in page.splitlines() if "Tanh(" in line and "<tr" in line]
    assert "Relu(" in row
    assert '<td class="p">mlp&lt;1&gt;</td>' in row
    assert "= 6 renamed" in page
    assert "<h1>a &amp; b</h1>" in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
