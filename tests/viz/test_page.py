"""The page: its data, and the page itself in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, parser

import onnxwright as ow
from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op
from tests.harness.browser import Page, browser, find_browser
from tests.harness.tables import each


@script()
def nested(x: FLOAT["N", 8], n: INT64[()]) -> FLOAT["N", 8]:
    y = op.Softplus(x)
    for _ in range(n):
        if op.ReduceSum(y, keepdims=0) > 0.0:
            y = op.Relu(y)
        else:
            y = op.Sigmoid(y) + x
    return op.Softmax(y, axis=-1)


def layers(count: int, parts: int = 8) -> onnx.ModelProto:
    """A chain of layers with two modules of some nodes each, named as an exporter does."""
    nodes = []
    last = "x"
    for layer in range(count):
        for module in ("attn", "mlp"):
            for part in range(parts):
                name = f"l{layer}_{module}_{part}"
                node = helper.make_node("Add", [last, "x"], [name], name=name)
                for key, value in (
                    ("pkg.torch.onnx.name_scopes",
                     ["", f"layers.{layer}", f"layers.{layer}.{module}", "add"]),
                    ("pkg.torch.onnx.class_hierarchy",
                     ["m.Net", "m.Layer", f"m.{module.title()}", "aten.add"]),
                ):  # fmt: skip
                    node.metadata_props.add(key=key, value=repr(value))
                nodes.append(node)
                last = name
    nodes.append(helper.make_node("Relu", [last], ["y"], name="end"))
    ends = [helper.make_tensor_value_info(name, 1, ["N", 4]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="ow-data">(.*?)</script>', page, re.DOTALL
    )
    assert found is not None
    made: dict[str, Any] = json.loads(found[1])
    return made


def main_graph(model: Any, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = data_of(ow.show(model, **options).html())["graphs"][0]
    return found


# -- the data --------------------------------------------------------------------------------------


def test_nodes_are_in_the_groups_of_their_modules() -> None:
    graph = main_graph(layers(2, parts=3))
    groups = [(g["n"], g["t"], g["p"]) for g in graph["groups"]]
    assert groups == [
        ("layers.0", "Layer", -1), ("attn", "Attn", 0), ("mlp", "Mlp", 0),
        ("layers.1", "Layer", -1), ("attn", "Attn", 3), ("mlp", "Mlp", 3),
    ]  # fmt: skip
    assert [i["p"] for i in graph["items"]] == [-1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 5, 5, 5, -1, -1]


def test_names_of_nodes_with_slashes_are_modules() -> None:
    model = layers(1, parts=2)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.name = f"/encoder/layer/{node.name}"
    assert [g["n"] for g in main_graph(model)["groups"]] == ["encoder.layer"]


@each("text", ["[", "3", "{}", "['a'", "[1, None, []]", "__import__('os')"])
def test_metadata_that_is_not_a_list_of_names_is_passed_over(text: str) -> None:
    model = layers(1, parts=2)
    for node in model.graph.node:
        for entry in node.metadata_props:
            entry.value = text
    assert len(main_graph(model)["items"]) == 7


def test_branches_and_bodies_are_groups() -> None:
    graph = main_graph(nested)
    names = [g["n"].split()[0] for g in graph["groups"]]
    assert names == ["Loop", "body", "If", "then_branch", "else_branch"]
    assert [g["p"] for g in graph["groups"]] == [-1, 0, 1, 2, 2]
    lines = {i["l"][0]: i for i in graph["items"]}
    assert lines["Sigmoid"]["p"] == 4
    # What a body reads from outside leads into it; the loop's own inputs lead to its group.
    number = {i["l"][0]: n for n, i in enumerate(graph["items"])}
    edges = {(a, b) for a, b, _ in graph["edges"]}
    assert (number["x"], number["Add"]) in edges
    assert (number["n"], -1) in edges
    assert (-1, number["Softmax"]) in edges


def test_a_node_has_its_types_weights_and_python_line() -> None:
    weight = ow.initializer(np.ones((2, 3), np.float32))

    @script()
    def f(x: FLOAT["N", 2]) -> FLOAT["N", 3]:
        return op.MatMul(x, weight)

    (item,) = [i for i in main_graph(f)["items"] if i["l"][0] == "MatMul"]
    rows = dict(map(tuple, item["d"]))
    assert rows["weight"].endswith("FLOAT[2, 3]  [1, 1, 1, 1, 1, 1]")
    assert rows["output"] == "output: FLOAT[N, 3]"
    assert rows["Python"].startswith("test_page.py:")
    assert "op.MatMul(x, weight)" in rows["line"]


def test_values_of_a_run_are_shown_and_what_is_not_finite_is_marked() -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return op.Log(op.Abs(x))

    run = ow.debug(f, [np.array([0.0, -2.0], np.float32)])
    graph = main_graph(f, values=run)
    rows = {i["l"][0]: i for i in graph["items"]}
    assert ["value", "FLOAT[2] min 0 max 2 mean 1"] in rows["Abs"]["d"]
    (bad,) = [row for row in rows["Log"]["d"] if row[0] == "value"]
    assert bad[1:] == ["min 0.693147 max 0.693147 mean 0.693147 NaN 0 Inf 1", "bad"]
    assert rows["Log"]["c"] == "node bad"
    assert main_graph(f, values={"x": np.ones(3)})["items"][0]["d"][1][0] == "value"


def test_nothing_in_a_model_ends_the_element_of_the_data() -> None:
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    model.graph.node[0].name = "</script><script>alert(1)</script>\u2028"
    page = ow.show(model).html()
    assert page.count("<script") == page.count("</script>") == 2
    assert "alert(1)" in json.dumps(data_of(page))


def test_a_graph_without_modules_of_many_nodes_is_divided() -> None:
    model = layers(30, parts=60)
    for node in model.graph.node:
        del node.metadata_props[:]
    graph = main_graph(model)
    assert [g["n"] for g in graph["groups"]][:2] == ["nodes 0 to 199", "nodes 200 to 399"]


# -- in a browser ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown() -> Iterator[Page]:
    if find_browser() is None:
        pytest.skip("no Chromium is installed")
    with browser() as page:
        yield page


def opened(page: Page, folder: Path, model: Any, **options: Any) -> None:
    file = folder / "page.html"
    ow.show(model, **options).save(file)
    page.errors.clear()
    page.open(file)


def boxes(page: Page) -> int:
    found: int = page.run("document.querySelectorAll('#ow-scene .box').length")
    return found


def text_of(page: Page, selector: str) -> str:
    found: str = page.run(f"document.querySelector('{selector}').textContent")
    return found


def test_a_graph_of_2000_nodes_is_folded_searched_and_read(shown: Page, tmp_path: Path) -> None:
    opened(shown, tmp_path, layers(50, parts=20))
    assert boxes(shown) == 53  # the input, 50 layers, the last node, the output
    shown.click('.toggle[data-group="layers.0"]')
    assert boxes(shown) == 54
    shown.type("#ow-search", "l7_mlp_13")
    assert text_of(shown, "#ow-count") == "2 nodes"  # and the one that reads it
    shown.press("Enter")  # unfolds the modules around it, and shows it in the middle
    assert boxes(shown) == 53 - 1 + 2 + 20 + 1 - 1
    assert "layers.7.mlp" in text_of(shown, "#ow-detail")
    assert "l7_mlp_13: FLOAT[N, 4]" in text_of(shown, "#ow-detail")
    place = shown.run(
        "(() => { const r = document.querySelector('.chosen').getBoundingClientRect();"
        "const s = document.querySelector('#ow-svg').getBoundingClientRect();"
        "return [(r.x + r.width / 2 - s.x) / s.width, (r.y + r.height / 2 - s.y) / s.height]; })()"
    )
    assert place == pytest.approx([0.5, 0.5], abs=0.02)
    shown.press("Escape")
    shown.click("#ow-unfold")
    assert boxes(shown) == 2003
    shown.click("#ow-fold")
    assert boxes(shown) == 53
    assert shown.errors == []


def test_a_click_shows_a_node_and_leads_to_its_neighbours(shown: Page, tmp_path: Path) -> None:
    inputs = [np.ones((2, 8), np.float32), np.array(2)]
    opened(shown, tmp_path, nested, values=ow.debug(nested, inputs))
    shown.click("#ow-scene .box.node")
    assert text_of(shown, "#ow-detail h2") == "Softplus"
    assert "FLOAT[2, 8] min 1.31326" in text_of(shown, "#ow-detail")
    assert "y = op.Softplus(x)" in text_of(shown, "#ow-detail")
    shown.click("#ow-detail .link")
    assert text_of(shown, "#ow-detail h2") == "x"
    shown.click(".frame.flow .head")  # a frame that is chosen has the colour of what is chosen
    stroke = "getComputedStyle(document.querySelector('.chosen>rect')).stroke"
    lit = "getComputedStyle(document.querySelector('.wire.lit')).stroke"
    assert shown.run(stroke) == shown.run(lit)
    assert shown.run("document.querySelectorAll('.wire.lit').length") > 0
    assert shown.errors == []


def test_the_wheel_zooms_at_the_pointer_and_dragging_moves(shown: Page, tmp_path: Path) -> None:
    opened(shown, tmp_path, nested)
    read = "document.querySelector('#ow-scene').getAttribute('transform')"
    numbers = [list(map(float, re.findall(r"-?[\d.]+", shown.run(read))))]
    shown.mouse("mouseWheel", 400, 400, deltaX=0, deltaY=-100)
    numbers.append(list(map(float, re.findall(r"-?[\d.]+", shown.run(read)))))
    assert numbers[1][2] == pytest.approx(numbers[0][2] * 1.18)
    shown.mouse("mousePressed", 40, 400, count=1)
    shown.mouse("mouseMoved", 70, 420, buttons=1)
    shown.mouse("mouseReleased", 70, 420, count=1)
    numbers.append(list(map(float, re.findall(r"-?[\d.]+", shown.run(read)))))
    assert np.subtract(numbers[2], numbers[1])[:2] == pytest.approx([30, 20], abs=0.01)
    assert shown.errors == []


def test_functions_of_a_model_are_graphs_to_choose(shown: Page, tmp_path: Path) -> None:
    @script()
    def scale(x, factor: float = 2.0):
        return x * factor

    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return scale(x, factor=3.0)

    opened(shown, tmp_path, f)
    names = shown.run("[...document.querySelectorAll('#ow-graph option')].map(o => o.textContent)")
    assert names == ["graph f", "function this.scale"]
    shown.type("#ow-search", "mul")
    shown.press("Enter")
    assert shown.run("document.querySelector('#ow-graph').value") == "1"
    assert text_of(shown, "#ow-detail h2") == "Mul"
    assert shown.errors == []


def test_an_empty_model_and_hostile_names_are_drawn(shown: Page, tmp_path: Path) -> None:
    empty = parser.parse_graph("g (float[2] x) => () { }")
    opened(shown, tmp_path, empty)
    assert boxes(shown) == 1
    assert shown.errors == []
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    model.graph.node[0].name = "<img src=x onerror=document.title=1>"
    opened(shown, tmp_path, model)
    shown.type("#ow-search", "relu")
    shown.press("Enter")
    assert "<img src=x" in text_of(shown, "#ow-detail")
    assert shown.run("document.querySelectorAll('img').length") == 0
    assert shown.errors == []


def _luminance(color: str) -> float:
    """How bright a colour is, from 0 to 1, as WCAG 2 defines it."""
    parts = [int(text) / 255 for text in re.findall(r"\d+", color)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


_TEXTS = """
[...document.querySelectorAll('#ow-scene .box')].flatMap(box => {
  const rect = getComputedStyle(box.querySelector('rect')).fill;
  return [...box.querySelectorAll('text')].map(t => [getComputedStyle(t).fill, rect]);
}).concat([...document.querySelectorAll('h1,aside td,aside .link,.hint,summary,pre')].map(
  e => [getComputedStyle(e).color, getComputedStyle(
    e.tagName == 'PRE' ? e : document.body).backgroundColor]))
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_system_and_is_readable(shown: Page, tmp_path, scheme: str) -> None:
    shown.send(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    opened(shown, tmp_path, nested)
    shown.click("#ow-scene .box")
    ground = shown.run("getComputedStyle(document.body).backgroundColor")
    assert (_luminance(ground) > 0.5) == (scheme == "light")
    pairs = shown.run(_TEXTS)
    assert len(pairs) > 20
    assert min(_contrast(*pair) for pair in pairs) >= 4.5  # WCAG 2, level AA
    shown.send("Emulation.setEmulatedMedia", features=[])
    assert shown.errors == []


@pytest.mark.parametrize("height", [500, 1400])
def test_the_page_fills_the_window(shown: Page, tmp_path: Path, height: int) -> None:
    opened(shown, tmp_path, nested)
    shown.open(tmp_path / "page.html", height=height)
    box = shown.run("JSON.stringify(document.querySelector('#ow-svg').getBoundingClientRect())")
    assert json.loads(box)["height"] > 0.68 * height
    end = shown.run("document.querySelector('section').getBoundingClientRect().bottom")
    assert end >= height - 1


def _transform(page: Page) -> list[float]:
    text = page.run("document.querySelector('#ow-scene').getAttribute('transform')")
    return list(map(float, re.findall(r"-?[\d.]+", text)))


def _chosen(page: Page) -> str:
    found: str = page.run("(document.querySelector('#ow-detail h2') || {}).textContent || ''")
    return found


def test_the_keyboard_walks_folds_zooms_and_searches(shown: Page, tmp_path: Path) -> None:
    opened(shown, tmp_path, layers(3, parts=4))
    shown.click("#ow-fold")
    shown.run("document.activeElement.blur()")
    assert "Shift arrows" in text_of(shown, "#ow-detail")  # which keys there are
    shown.press("ArrowDown")
    walked = [_chosen(shown)]
    for _ in range(4):
        shown.press("ArrowDown")
        walked.append(_chosen(shown))
    assert walked == ["x", "layers.0 (Layer)", "layers.1 (Layer)", "layers.2 (Layer)", "Relu"]
    shown.press("ArrowUp")
    assert _chosen(shown) == "layers.2 (Layer)"
    count = boxes(shown)
    shown.press("Enter")  # the module unfolds, and stays selected
    assert (boxes(shown), _chosen(shown)) == (count + 1, "layers.2 (Layer)")
    shown.press("Enter")
    assert boxes(shown) == count
    before = _transform(shown)
    shown.press("+")
    assert _transform(shown)[2] == pytest.approx(before[2] * 1.18)
    shown.press("-")
    assert _transform(shown) == pytest.approx(before)
    shown.press("ArrowLeft", shift=True)
    assert np.subtract(_transform(shown), before) == pytest.approx([60, 0, 0])
    shown.press("0")
    assert _transform(shown) == pytest.approx(before)
    shown.press("Escape")
    assert (_chosen(shown), shown.run("document.querySelector('.chosen')")) == ("", None)
    shown.press("/")
    assert shown.run("document.activeElement.id") == "ow-search"
    shown.type("#ow-search", "_attn_2")
    shown.press("Enter")
    first = text_of(shown, "#ow-detail")
    shown.run("document.activeElement.blur()")
    shown.press("n")
    second = text_of(shown, "#ow-detail")
    assert "l0_attn_2" in first
    assert second != first
    shown.press("N", shift=True)
    assert text_of(shown, "#ow-detail") == first
    assert shown.errors == []


def test_arrows_reach_what_stands_beside(shown: Page, tmp_path: Path) -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return op.Add(op.Sin(x), op.Cos(x))

    opened(shown, tmp_path, f)
    shown.run("document.activeElement.blur()")
    shown.press("ArrowDown")
    shown.press("ArrowDown")
    one = _chosen(shown)
    shown.press("ArrowRight" if one == "Sin" else "ArrowLeft")
    assert {one, _chosen(shown)} == {"Sin", "Cos"}
    shown.press("ArrowDown")
    assert _chosen(shown) == "Add"
    assert shown.errors == []


def test_keys_of_fields_are_those_of_the_field(shown: Page, tmp_path: Path) -> None:
    """A letter or an arrow in the search moves nothing in the picture."""
    opened(shown, tmp_path, nested)
    before = _transform(shown)
    shown.type("#ow-search", "n")
    for key in ("n", "0", "ArrowDown", "+"):
        shown.press(key)
    assert _transform(shown) == before
    assert _chosen(shown) == ""
    shown.press("Escape")
    assert shown.run("document.activeElement.id") != "ow-search"
    assert shown.errors == []
