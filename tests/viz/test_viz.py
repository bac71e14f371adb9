"""Looking at models: the listing, the figures, the picture and the page."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, parser

import onnxwright as ow
from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.viz.drawing import source_text
from onnxwright.viz.flops import flops_of
from onnxwright.viz.layout import Box, Group, place
from onnxwright.viz.summary import summarize
from onnxwright.viz.view import view
from tests.harness.node_cases import node_cases
from tests.harness.tables import each

SVG = "{http://www.w3.org/2000/svg}"
needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("pygraphviz") is None, reason="the extra `viz` is missing"
)


@script()
def norm(x, eps: float = 1e-5):
    centred = x - op.ReduceMean(x, keepdims=1)
    return centred / op.Sqrt(op.ReduceMean(centred * centred, keepdims=1) + eps)


@script()
def nested(x: FLOAT["N", 8], n: INT64[()]) -> FLOAT["N", 8]:
    """A loop with an if."""
    y = norm(x, eps=0.001)
    for _ in range(n):
        if op.ReduceSum(y, keepdims=0) > 0.0:
            y = op.Relu(y)
        else:
            y = op.Sigmoid(y) + x
    return op.Softmax(y, axis=-1)


def model(body: str, head: str = "(float[N, 3] x) => (float[N, 3] y)") -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> g {head} {{ {body} }}')


# -- the listing -----------------------------------------------------------------------------------


def test_the_listing_has_types_attributes_places_and_nested_blocks() -> None:
    text = str(ow.show(nested))
    assert "graph nested(x: FLOAT[N, 8], n: INT64[()]) -> (output: FLOAT[N, 8])" in text
    assert re.search(r"output: FLOAT\[N, 8\] = Softmax\(\S+, axis=-1\)  # test_viz.py:\d+", text)
    lines = text.splitlines()
    depths = {}
    for word in ("graph", "body:", "then_branch:", "function"):
        line = next(line for line in lines if line.lstrip().startswith(word))
        depths[word] = len(line) - len(line.lstrip())
    assert depths == {"graph": 0, "body:": 8, "then_branch:": 16, "function": 0}
    assert "function this.norm(x, eps=1e-05)" in text


def test_colour_is_asked_for() -> None:
    shown = ow.show(nested)
    assert "\x1b" not in str(shown) + repr(shown)
    painted = shown.text(color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == str(shown)


def test_everything_that_is_a_model_can_be_shown(tmp_path: Path) -> None:
    proto = nested.to_model_proto()
    onnx.save(proto, tmp_path / "m.onnx")
    whole = str(ow.show(proto))
    for same in (nested, ir.from_proto(proto), tmp_path / "m.onnx", str(tmp_path / "m.onnx")):
        assert str(ow.show(same)) == whole
    function = norm.to_function_proto()
    assert str(ow.show(function)) == str(ow.show(ir.from_proto(function)))
    assert "g(" in str(ow.show(model("y = Relu(x)").graph))
    with pytest.raises(TypeError, match="OW752"):
        ow.show(3)


def test_a_broken_model_is_shown_all_the_same() -> None:
    broken = model("y = Relu(x)")
    broken.graph.node[0].op_type = "Nonsense"
    broken.graph.node[0].input[0] = "nowhere"
    shown = ow.show(broken)
    assert "Nonsense(nowhere)" in str(shown)
    assert shown.summary.unknown == 1


@pytest.mark.parametrize("part", ["text", "summary", "html"])
def test_every_kind_of_node_can_be_shown(part: str) -> None:
    """A sample of the node cases that onnx ships: sequences, optionals, maps, subgraphs."""
    step = {"text": 12, "summary": 12, "html": 60}[part]
    for case in node_cases()[::step]:
        shown = ow.show(case.model)
        assert str(shown.summary) if part == "summary" else getattr(shown, part)()


# -- the figures -----------------------------------------------------------------------------------


def test_figures_of_a_model() -> None:
    weights = "<float[3, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, int64[2] s = {2, 6}>"
    found = summarize(
        model("t = MatMul(x, w) y = Reshape(t, s)", f"(float[3, 3] x) => (float[2, 6] y) {weights}")
    )
    assert (found.nodes, found.parameters, found.nbytes) == (2, 14, 64)
    assert dict(found.inputs) == {"x": "FLOAT[3, 3]"}
    assert dict(found.opsets) == {"ai.onnx": 18}
    assert [w.flops for w in found.work] == [2 * 3 * 3 * 4, 0]


def test_functions_are_counted_inside_and_branches_once() -> None:
    found = summarize(nested, dims={"N": 2})
    assert found.functions == 1
    assert found.operators["ReduceMean"] == 2
    # The function's nodes have estimates; the loop's trip count is not known.
    assert {w.op for w in found.work if w.flops} >= {"Sub", "Div", "Sqrt"}
    assert {w.op for w in found.work if w.flops is None} >= {"Greater"}


def test_a_loop_with_a_known_trip_count_is_counted_as_often() -> None:
    @script()
    def repeated(x: FLOAT[4]) -> FLOAT[4]:
        for _ in range(5):
            x = op.Relu(x)
        return x

    works = summarize(repeated).work
    assert [w.flops for w in works if w.op == "Relu"] in ([20], [4] * 5)


def kind(*shape: int) -> TensorType:
    return TensorType(DType.FLOAT, shape)


# op, attributes, input shapes, output shape, what a straight implementation does
WORK: list[tuple[str, dict[str, Any], list[tuple[int, ...]], tuple[int, ...], int]] = [
    ("MatMul", {}, [(5, 2, 3), (5, 3, 4)], (5, 2, 4), 5 * 2 * 4 * 3 * 2),
    ("Gemm", {"transA": 1}, [(3, 2), (3, 4), (4,)], (2, 4), 2 * 2 * 4 * 3 + 2 * 4),
    ("Gemm", {"alpha": 0.5, "beta": 2.0}, [(2, 3), (3, 4), (4,)], (2, 4), 48 + 8 + 8 + 8),
    ("Gemm", {"transB": 1}, [(2, 3), (4, 3)], (2, 4), 48),
    ("MatMul", {}, [(3,), (3, 4)], (4,), 4 * 3 * 2),
    ("MatMul", {}, [(3,), (3,)], (), 6),
    ("Conv", {"group": 4}, [(2, 4, 9), (4, 1, 3)], (2, 4, 7), 2 * 4 * 7 * 3 * 2),
    ("ConvTranspose", {"group": 2}, [(1, 4, 3), (4, 3, 2)], (1, 6, 4), 12 * 3 * 2 * 2),
    ("Conv", {"group": 2}, [(1, 4, 8, 8), (6, 2, 3, 3)], (1, 6, 6, 6), 216 * 2 * 3 * 3 * 2),
    ("Conv", {}, [(1, 4, 8, 8), (6, 4, 1, 1), (6,)], (1, 6, 8, 8), 384 * 4 * 2 + 384),
    ("ConvTranspose", {}, [(1, 2, 3, 3), (2, 5, 2, 2)], (1, 5, 4, 4), 18 * 5 * 4 * 2),
    ("MaxPool", {"kernel_shape": [2, 2]}, [(1, 1, 4, 4)], (1, 1, 2, 2), 16),
    ("Add", {}, [(2, 3), (3,)], (2, 3), 6),
    ("Softmax", {}, [(2, 3)], (2, 3), 30),
    ("ReduceSum", {}, [(2, 3)], (1, 1), 6),
    ("Transpose", {}, [(2, 3)], (3, 2), 0),
    ("Einsum", {"equation": "ij,jk->ik"}, [(2, 3), (3, 4)], (2, 4), 48),
    ("Einsum", {"equation": "bij,bjk"}, [(5, 2, 3), (5, 3, 4)], (5, 2, 4), 5 * 2 * 3 * 4 * 2),
    ("Einsum", {"equation": "...ij,jk->...ik"}, [(7, 2, 3), (3, 4)], (7, 2, 4), 7 * 24 * 2),
    ("Einsum", {"equation": "i,j->ij"}, [(2,), (3,)], (2, 3), 6),
    ("Einsum", {"equation": "i,j"}, [(2,), (3,)], (2, 3), 6),
    ("Einsum", {"equation": "ij->i"}, [(2, 3)], (2,), 6),
    ("Einsum", {"equation": "ij->ji"}, [(2, 3)], (3, 2), 0),
    ("Einsum", {"equation": "ij,jk,kl->il"}, [(2, 3), (3, 4), (4, 5)], (2, 5), 2 * 3 * 4 * 5 * 3),
    ("LSTM", {}, [(5, 2, 3), (1, 16, 3), (1, 16, 4)], (5, 1, 2, 4), 10 * (8 * 4 * 7 + 32)),
    ("Attention", {}, [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6)], (1, 2, 3, 6), 30 * (8 + 5 + 12)),
    (
        "Attention",
        {},
        [(1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6), (3, 7), (1, 2, 2, 4), (1, 2, 2, 6)],
        (1, 4, 3, 6),
        4 * 3 * 7 * (8 + 1 + 5 + 12),
    ),
    (
        "Attention",
        {"q_num_heads": 4, "kv_num_heads": 2},
        [(1, 3, 16), (1, 5, 8), (1, 5, 12)],
        (1, 3, 24),
        4 * 3 * 5 * (8 + 5 + 12),
    ),
    ("GRU", {}, [(5, 2, 3), (2, 12, 3), (2, 12, 4)], (5, 2, 2, 4), 5 * 2 * 2 * (6 * 4 * 7 + 32)),
]


@each("case", WORK)
def test_estimated_work_is_that_of_the_formula(case: Any) -> None:
    name, attributes, inputs, output, wanted = case
    names = [f"i{n}" for n in range(len(inputs))]
    types = {n: kind(*s) for n, s in zip(names, inputs, strict=True)} | {"o": kind(*output)}
    node = helper.make_node(name, names, ["o"], **attributes)
    assert flops_of(node, types) == wanted
    assert flops_of(node, {}) in (None, 0)


def test_symbolic_sizes_are_given_or_not_known() -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    types = {"y": TensorType(DType.FLOAT, ("N", 3))}
    assert flops_of(node, types) is None
    assert flops_of(node, types, {"N": 4}) == 12


# -- the picture -----------------------------------------------------------------------------------


@needs_engine
def test_the_picture_is_well_formed_and_nested() -> None:
    root = ET.fromstring(ow.show(nested).svg())
    groups = {}
    for part in root.iter(f"{SVG}g"):
        rect, text = part.find(f"{SVG}rect"), part.find(f"{SVG}text")
        if rect is not None and "group" in rect.get("class", ""):
            assert text is not None
            assert text.text is not None
            groups[text.text.split(" ")[0]] = [
                float(rect.get(k, "")) for k in ("x", "y", "width", "height")
            ]
    assert set(groups) == {"graph", "Loop", "body", "If", "then_branch", "else_branch", "function"}
    for outer, inner in (
        ("graph", "Loop"), ("Loop", "body"), ("body", "If"), ("If", "then_branch"),
        ("If", "else_branch"),
    ):  # fmt: skip
        a, b = groups[outer], groups[inner]
        for axis in (0, 1):
            assert a[axis] < b[axis]
            assert a[axis] + a[axis + 2] > b[axis] + b[axis + 2]


@needs_engine
def test_the_pointer_reads_types_attributes_and_the_python_line() -> None:
    root = ET.fromstring(ow.show(nested).svg())
    titles = [part.text or "" for part in root.iter(f"{SVG}title")]
    (softmax,) = [t for t in titles if t.startswith("Softmax")]
    assert "out  output: FLOAT[N, 8]" in softmax
    assert "attr axis = -1" in softmax
    assert "test_viz.py:" in softmax
    assert "return op.Softmax(y, axis=-1)" in softmax


@needs_engine
def test_a_call_leads_to_its_function() -> None:
    root = ET.fromstring(ow.show(nested).svg())
    (link,) = [a.get("href") for a in root.iter(f"{SVG}a")]
    assert link is not None
    assert any(part.get("id") == link[1:] for part in root.iter(f"{SVG}g"))


@needs_engine
def test_names_of_a_hostile_model_stay_text() -> None:
    bad = '"><script>alert(1)</script><![CDATA[]]>&\x00\ud800'.encode("utf-8", "replace").decode()
    proto = model("y = Relu(x)")
    proto.graph.name = proto.graph.node[0].name = proto.producer_name = bad
    proto.graph.node[0].op_type = bad
    proto.graph.node[0].doc_string = bad
    proto.graph.node[0].metadata_props.add(key="onnxwright.origin", value="/etc/passwd:1:1")
    shown = ow.show(proto)
    root = ET.fromstring(shown.svg())
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        "svg", "title", "style", "rect", "defs", "marker", "path", "g", "text", "a",
    }  # fmt: skip
    assert "root:" not in shown.svg()
    page = shown.html()
    assert page.count("<script>") == 1  # ours
    assert "alert(1)</script>" not in page
    assert "<script" not in shown._repr_html_()


def test_only_python_files_are_read_for_a_line() -> None:
    assert source_text("/etc/passwd:1:1") == ""
    other = Path(__file__).parents[1] / "conftest.py"  # nothing is compiled from it
    assert source_text(f"{other}:1:1-1:5") == ""
    assert source_text(f"{other}:1:1-1:5", other).startswith('"""')
    assert source_text("nonsense") == ""


@needs_engine
def test_two_thousand_nodes_are_drawn() -> None:
    rng = np.random.default_rng(0)
    nodes, names = [], ["x"]
    for n in range(2000):
        inputs = [names[-1], names[-int(rng.integers(1, min(8, len(names)) + 1))]]
        nodes.append(helper.make_node("Add", inputs, [f"v{n}"]))
        names.append(f"v{n}")
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in ("x", names[-1])]
    proto = helper.make_model(helper.make_graph(nodes, "g", info[:1], info[1:]))
    root = ET.fromstring(ow.show(proto).svg())
    boxes = [g for g in root.iter(f"{SVG}g") if g.get("class") == "node"]
    assert len(boxes) == 2000


@needs_engine
def test_boxes_do_not_overlap_and_lines_lead_down() -> None:
    boxes = [Box(n, 40 + 10 * (n % 5), 30) for n in range(1, 30)]
    lines = [(n // 2, n) for n in range(2, 30)]
    found = place(Group(0, 0, 0, boxes[:20], [Group(99, 50, 14, boxes[20:])]), lines)
    corners = list(found.boxes.values())
    for i, a in enumerate(corners):
        for b in corners[i + 1 :]:
            apart = (
                a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0]
                or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
            )  # fmt: skip
            assert apart
    assert all(found.boxes[a][1] < found.boxes[b][1] for a, b in lines)


def test_without_the_engine_the_extra_is_named_and_the_rest_works(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    shown = ow.show(nested)
    with pytest.raises(ImportError, match=r"onnxwright\[viz\]"):
        shown.svg()
    assert "graph nested" in shown._repr_html_()
    assert "onnxwright[viz]" in shown._repr_html_()
    assert 'id="ow-svg"' in shown.html()
    assert "Softmax" in str(shown)


def test_a_function_shows_itself_in_a_notebook() -> None:
    assert "graph nested" in nested._repr_html_()
    assert "this.norm" in norm._repr_html_()

    @script()
    def wrong(x: FLOAT[3]) -> FLOAT[3]:
        return op.Relo(x)

    assert "OW5" in wrong._repr_html_()


def test_a_large_model_is_a_listing_in_a_notebook() -> None:
    body = " ".join(f"v{n} = Relu({f'v{n - 1}' if n else 'x'})" for n in range(500))
    shown = ow.show(model(f"{body} y = Neg(v499)"))
    assert "<svg" not in shown._repr_html_()
    assert "v499" in shown._repr_html_()


def test_saved_by_the_name_of_the_file(tmp_path: Path) -> None:
    shown = ow.show(nested)
    shown.save(tmp_path / "m.txt")
    assert (tmp_path / "m.txt").read_text(encoding="utf-8") == str(shown)
    shown.save(tmp_path / "m.html")
    assert "<!DOCTYPE html>" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_a_view_is_plain_data() -> None:
    (relu,) = view(model("y = Relu(x)")).main.steps
    assert (relu.op, relu.inputs, relu.outputs, relu.callee) == ("Relu", ("x",), ("y",), None)


@pytest.mark.parametrize(("size", "follows"), [(1000, True), (1 << 20, False)])
def test_long_vectors_are_not_followed_element_by_element(
    size: int, follows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX's inference would take memory for every element of a large weight of one row."""
    seen = []
    infer = onnx.shape_inference.infer_shapes

    def spy(proto: onnx.ModelProto, **options: Any) -> onnx.ModelProto:
        seen.append(options["data_prop"])
        return infer(proto)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", spy)
    proto = model("y = Gather(w, k)", "(int64[1] k) => (float[1] y)")
    weight = proto.graph.initializer.add(
        name="w", data_type=1, dims=[size], data_location=TensorProto.EXTERNAL
    )
    weight.external_data.add(key="location", value="weights")
    assert "y: FLOAT[1] = Gather(w, k)" in str(ow.show(proto))
    assert seen == [follows]


@needs_engine
def test_many_boxes_are_laid_out_in_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands hold everything once, nothing overlaps, every line has a way, groups hold theirs."""
    monkeypatch.setattr("onnxwright.viz.layout._BAND", 16)
    inner = Group(50, 60, 14, [Box(n, 40, 30) for n in range(51, 57)])
    main = Group(100, 80, 14, [Box(n, 40 + n % 7, 30) for n in range(1, 40)], [inner])
    other = Group(200, 80, 14, [Box(n, 40, 30) for n in range(201, 205)])
    lines = [(n // 2, n) for n in range(2, 40)] + [(3, 51), (51, 56), (56, 39), (201, 204)]
    found = place(Group(0, 0, 0, [], [main, other]), lines)
    assert set(found.boxes) == {*range(1, 40), *range(51, 57), *range(201, 205)}
    assert set(found.groups) == {50, 100, 200}
    assert all(len(points) >= 4 for points in found.lines)
    corners = list(found.boxes.values())
    for i, a in enumerate(corners):
        for b in corners[i + 1 :]:
            apart = (
                a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0]
                or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
            )  # fmt: skip
            assert apart
    for group, keys in ((50, range(51, 57)), (100, range(1, 40)), (200, range(201, 205))):
        left, top, wide, high = found.groups[group]
        for key in keys:
            x, y, w, h = found.boxes[key]
            assert left <= x
            assert x + w <= left + wide
            assert top <= y
            assert y + h <= top + high
    assert list(found.groups) == [50, 100, 200]


def test_sizes_make_more_shapes_known() -> None:
    """A reshape by computed sizes stops inference by names, not by numbers."""
    body = (
        "s = Shape(x) two = Constant<value = int64[1] {2}>() m = Mul(s, two) "
        "e = Expand(x, m) y = Relu(e)"
    )
    proto = model(body, "(float[N] x) => (float[M] y)")
    unsized = summarize(proto)
    assert unsized.free == ("N",)
    assert "give sizes to N" in str(unsized)
    sized = summarize(proto, dims={"N": 4})
    assert sized.free == ()
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = ""
    assert summarize(proto).free == ()
