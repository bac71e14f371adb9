"""`diff`: what was added, removed, changed and rewired, as text, data and HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import onnx
import pytest
from onnx import helper, parser

import onnxwright as ow
from onnxwright.compare.diffing import diff
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
    y = Softmax<axis = 1>(e)
}
<domain: "d", opset_import: ["" : 18]>
twice <k> (x) => (y) { y = Add(x, x) }
"""
)


def changed(*edits: tuple[str, str]) -> ow.testing.Diff:
    """The differences that edits of the text make."""
    text = MODEL
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return diff(parser.parse_model(MODEL), parser.parse_model(text))


# Edits -> (kind, what, name) of each difference, and a piece of the text.
CASES: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str, str]], str]] = {
    "nothing": ([], [], "no difference"),
    "renamed intermediates": ([("a = Relu(x)", "aa = Relu(x)"), ("Add(a, b)", "Add(aa, b)")], [],
                              "no difference"),
    "attribute": ([("axis = 1", "axis = 0")], [("changed", "node", "Softmax")],
                  "attribute axis: 1 -> 0"),
    "attribute gone": ([("<axis = 1>", "")], [("changed", "node", "Softmax")],
                       "attribute axis: 1 -> not there"),
    "rewired": ([("Add(a, b)", "Add(b, a)")], [("rewired", "node", "Add")], "input 0: `a` of Relu"),
    "added": ([("b = Neg(z)", "b0 = Abs(z) b = Neg(b0)")],
              [("added", "node", "Abs"), ("rewired", "node", "Neg")], "+ node b0 = Abs(z)"),
    "removed": ([("c = Add(a, b)", "c = Relu(x)"), ("a = Relu(x)", "")],
                [("removed", "node", "Add")], "- node"),
    "initializer": ([("{1.0, 2.0}", "{1.0, 3.0}")], [("changed", "initializer", "w")],
                    "FLOAT[2] [1, 2] -> FLOAT[2] [1, 3]"),
    "input type": ([("float[N, 2] z", "float16[N, 2] z")], [("changed", "input", "z")],
                   "type: FLOAT[N, 2] -> FLOAT16[N, 2]"),
    "input name": ([("float[N, 2] z", "float[N, 2] zz"), ("Neg(z)", "Neg(zz)")],
                   [("changed", "input", "z")], "name: z -> zz"),
    "inputs in another order": ([("float[N, 2] x, float[N, 2] z", "float[N, 2] z, float[N, 2] x")],
                                [("changed", "input", "x"), ("changed", "input", "z")],
                                "place: 0 -> 1"),
    "an output listed twice": ([("=> (float[N, 2] y)", "=> (float[N, 2] y, float[N, 2] y)")],
                               [("added", "output", "y")], "+ output y"),
    "opset": ([('"" : 18, "d"', '"" : 19, "d"')], [("changed", "fact", "opset ai.onnx")],
              "18 -> 19"),
    "inside a branch": ([("p = Mul(c, w)", "p = Div(c, w)")],
                        [("removed", "node", "Mul"), ("added", "node", "Div")],
                        "`then_branch` of If"),
    "inside a function": ([("y = Add(x, x)", "y = Sub(x, x)")],
                          [("removed", "node", "Add"), ("added", "node", "Sub")],
                          "function `d::twice`"),
}  # fmt: skip


@each("name", CASES)
def test_a_difference_is_found_and_named(name: str) -> None:
    edits, expected, piece = CASES[name]
    found = changed(*edits)
    listed = [(c.kind, c.what, c.name) for c in found.changes]
    assert set(expected) <= set(listed)
    assert bool(found) == bool(expected)
    if name != "removed":
        assert len(listed) == len(expected), found.text()
    assert piece in found.text()


@each("outputs", ["b, a", "a, a, b", "b"])
def test_outputs_are_told_by_their_places(outputs: str) -> None:
    def model(names: str) -> Any:
        listed = ", ".join(f"float[2] {name}" for name in names.split(", "))
        text = f"{HEAD} g (float[2] x) => ({listed}) {{ a = Relu(x) b = Neg(x) }}"
        return parser.parse_model(text)

    found = diff(model("a, b"), model(outputs))
    assert {c.what for c in found.changes} == {"output"}, found.text()
    assert not diff(model(outputs), model(outputs))


def test_functions_come_and_go() -> None:
    other = parser.parse_model(MODEL)
    del other.functions[:]
    found = diff(parser.parse_model(MODEL), other)
    assert [(c.kind, c.what, c.name) for c in found.changes] == [
        ("removed", "function", "d::twice")
    ]


def test_data_is_json() -> None:
    found = changed(("axis = 1", "axis = 0"))
    assert json.loads(found.json()) == json.loads(json.dumps(found.data()))
    assert found.data()[0]["kind"] == "changed"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_escapes_names() -> None:
    """Every tag is closed, and a hostile name stays text."""
    evil = "<script>alert(1)</script>"
    models = []
    for op in ("Relu", "Neg"):
        nodes = [helper.make_node(op, ["x"], ["y"], name=evil, doc_string=evil)]  # noqa: TID251
        info = [helper.make_tensor_value_info(n, 1, [evil]) for n in "xy"]
        graph = helper.make_graph(nodes, evil, info[:1], info[1:])
        models.append(helper.make_model(graph, producer_name=evil + op))
    page = diff(*models).html(evil)
    reader = _Tags()
    reader.feed(page)
    assert reader.open == []
    assert "script" not in reader.seen
    assert {"table", "td", "tr"} <= reader.seen
    assert "<table>" in diff(*models)._repr_html_()


def test_unchanged_parts_are_folded() -> None:
    lines = " ".join(f"v{n + 1} = Relu(v{n})" for n in range(40))
    text = f"g (float[2] v0) => (float[2] y) {{ {lines} y = Softmax<axis = %d>(v40) }}"
    page = diff(parser.parse_graph(text % 0), parser.parse_graph(text % 1)).html()
    assert "38 nodes the same" in page


def test_paths_and_functions_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(MODEL), path)
    assert not diff(path, parser.parse_model(MODEL))
    model = parser.parse_model(MODEL)
    assert not diff(model.functions[0], model.functions[0])
    with pytest.raises(TypeError, match="cannot be compared"):
        diff(model, model.graph)


def test_thousands_of_nodes_need_no_recursion() -> None:
    def chain(count: int, skip: int) -> onnx.GraphProto:
        names = ["x", *(f"v{n}" for n in range(count) if n != skip), "y"]
        ops = [("Relu", "Neg", "Abs")[n % 3] for n in range(count) if n != skip]
        nodes = [
            helper.make_node(op, [a], [b])  # noqa: TID251
            for op, a, b in zip([*ops, "Exp"], names, names[1:], strict=False)
        ]
        info = [helper.make_tensor_value_info(n, 1, [2]) for n in "xy"]
        return helper.make_graph(nodes, "g", info[:1], info[1:])

    found = diff(chain(3_000, -1), chain(3_000, 1_502))
    assert ("removed", "Abs") in [(c.kind, c.name) for c in found.changes]
    assert len(found.changes) <= 3


def test_a_brief_text_puts_places_together() -> None:
    """Equal places are one line; what is not a node, or stands alone, is told as ever."""
    text = "g (float[2] x) => (float[2] y) { %s }"
    many = " ".join(f"a{n} = Abs(b{n - 1}) b{n} = Exp(a{n})" for n in range(1, 5))
    few = " ".join(f"b{n} = Softplus(b{n - 1})" for n in range(1, 5))
    ends = "b0 = Neg(x) %s y = Mul(b4, b4)"
    found = diff(parser.parse_graph(text % (ends % many)), parser.parse_graph(text % (ends % few)))
    summary, graph, *lines = found.brief().splitlines()
    assert summary == found.summary()
    assert graph == "graph `g`:"
    assert len(lines) < len(found.changes)
    assert "Softplus" in lines[0]
    assert found.brief(0).splitlines() == [summary, f"... and {len(lines) + 1} lines more"]
    one = diff(parser.parse_graph(text % "y = Neg(x)"), parser.parse_graph(text % "y = Abs(x)"))
    assert "Neg -> Abs" in one.brief()
    assert (
        diff(
            parser.parse_graph(text % "y = Neg(x)"), parser.parse_graph(text % "y = Neg(x)")
        ).brief()
        == "no difference (1 node)"
    )
    old = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + text % "y = Neg(x)")
    new = parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> ' + text % "y = Neg(x)")
    assert "  ~ fact opset ai.onnx: 17 -> 18" in diff(old, new).brief()
