"""Models that tools must not break: converted, optimized and changed, and run before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnxwright as ow
from onnxwright.eager.ort.sessions import newest_opset
from onnxwright.errors import ConversionError, ModelError, OnnxwrightWarning
from tests.versions.backend_cases import run, same
from tests.versions.test_trees import X, trees
from tests.versions.test_trees import model as tree_model

TEXT = (Path(__file__).parent / "unusual_models.txt").read_text("utf-8")
CASES: dict[str, tuple[str, set[str]]] = {}
for part in TEXT.split("\n== ")[1:]:
    title, text = part.split("\n", 1)
    name, _, refused = title.partition(" | ")
    CASES[name] = (text, set(refused.split()))

parse = onnx.parser.parse_model


def sparse_weight() -> onnx.ModelProto:
    model = parse("""<ir_version: 8, opset_import: ["" : 11]>
        g (float[N,4] x) => (float[N,P] y) { a = Mul (x, w)  y = ReduceSum <axes = [1]> (a) }""")
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [3.0, 5.0])
    places = helper.make_tensor("", TensorProto.INT64, [2], [1, 3])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [1, 4]))
    return model


def annotated() -> onnx.ModelProto:
    model = parse("""<ir_version: 8, opset_import: ["" : 11]>
        g (float[N,4] x) => (float[N,P] y) <float s = {0.5}> {
            a = Relu (x)  y = ReduceSum <axes = [1]> (a) }""")
    note = model.graph.quantization_annotation.add(tensor_name="a")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    return model


def without_an_input() -> onnx.ModelProto:
    model = parse("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[1,1,4,4] x) => (float[1,1,A,B] y) <float[4] sc = {1, 1, 2, 2}> {
            y = Resize <mode = "nearest"> (x, x, sc) }""")
    model.graph.node[0].input[1] = ""
    return model


def other_name_of_the_domain() -> onnx.ModelProto:
    model = parse("""<ir_version: 8, opset_import: ["" : 12]>
        g (float[N,4] x) => (float[N,P] y) { y = ReduceSum <axes = [1]> (x) }""")
    model.opset_import[0].domain = "ai.onnx"
    return model


def sparse_constant() -> onnx.ModelProto:
    model = parse("""<ir_version: 8, opset_import: ["" : 11]>
        g (float[N,4] x, bool c) => (float[N,4] y) {
            a = Mul (x, w)
            y = If (c) <then_branch = t () => (float[N,4] v) { v = Add (a, u) },
                        else_branch = e () => (float[N,4] v) { v = Neg (a) }> }""")
    then = model.graph.node[-1].attribute[0].g
    for graph, name, places in ((model.graph, "w", [1, 3]), (then, "u", [0, 2])):
        values = helper.make_tensor("", TensorProto.FLOAT, [2], [3.0, 5.0])
        held = helper.make_sparse_tensor(
            values, helper.make_tensor("", TensorProto.INT64, [2], places), [4]
        )
        graph.node.insert(0, helper.make_node("Constant", [], [name], sparse_value=held))
    return model


BUILT: dict[str, Callable[[], onnx.ModelProto]] = {
    "a sparse weight": sparse_weight,
    "a sparse constant": sparse_constant,
    "quantization annotations": annotated,
    "an input left out in the middle": without_an_input,
    "the default domain by its other name": other_name_of_the_domain,
}

Tool = Callable[[onnx.ModelProto], onnx.ModelProto]
TOOLS: dict[str, Tool] = {
    **{f"convert {v}": lambda m, v=v: ow.convert_version(m, v) for v in (24, 18, 13, 9, 8)},
    "exact": lambda m: ow.optimize(m, level="exact"),
    "rounding": lambda m: ow.optimize(m),
    "inline": lambda m: ow.optimize(m, inline=True),
    "onnxruntime": lambda m: ow.optimize(m, target="onnxruntime"),
    "newest": lambda m: ow.optimize(m, opset_version=24),
    "extract": lambda m: ow.extract(m, free(m), [o.name for o in m.graph.output]),
    "rename": lambda m: ow.rename(m, outputs={m.graph.output[0].name: "renamed"}),
    "set_shapes": lambda m: ow.set_shapes(m, {free(m)[0]: [None] * len(dims(m))}),
    "inputs": lambda m: ow.inputs_to_initializers(ow.initializers_to_inputs(m)),
    "compose": lambda m: ow.compose(m, m, {}, prefix="b_"),
}


def free(model: onnx.ModelProto) -> list[str]:
    held = {t.name for t in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name not in held]


def dims(model: onnx.ModelProto) -> Any:
    return model.graph.input[0].type.tensor_type.shape.dim


def feeds(model: onnx.ModelProto) -> list[Any]:
    rng, arrays = np.random.default_rng(0), []
    for info in model.graph.input:
        if info.name in free(model):
            kind = info.type.tensor_type
            shape = [d.dim_value if d.dim_value > 0 else 3 for d in kind.shape.dim]
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
            value = {"b": np.array(True), "i": np.array(2, dtype)}.get(dtype.kind)
            arrays.append(rng.normal(size=shape).astype(dtype) if value is None else value)
    return arrays


def tried(tool: Tool, model: onnx.ModelProto) -> tuple[onnx.ModelProto | None, list[Any]]:
    """What a tool makes, and what it refuses to convert."""
    try:
        return tool(model), []
    except ConversionError as error:
        return None, list(error.diagnostics)


@pytest.mark.parametrize("name", [*CASES, *BUILT])
def test_tools_keep_what_a_model_computes(name: str) -> None:
    text, refused = CASES.get(name, ("", set()))
    model = BUILT[name]() if name in BUILT else parse(text)
    inputs = feeds(model)
    # ONNX Runtime takes functions of the model's own opset only.
    mixed = "opset" in name
    want = run(ow.convert_version(model, 18) if mixed else model, inputs)
    before = model.SerializeToString(deterministic=True)
    for label, tool in TOOLS.items():
        new_model, problems = tried(tool, model)
        assert {p.operation for p in problems} <= refused, label
        if new_model is None:
            continue
        assert model.SerializeToString(deterministic=True) == before, label
        assert len(new_model.graph.quantization_annotation) >= len(
            model.graph.quantization_annotation
        )
        if mixed and not label.startswith(("convert", "newest", "inline")):
            continue
        onnx.checker.check_model(new_model, full_check=True)
        if (
            max((o.version for o in new_model.opset_import if not o.domain), default=0)
            > newest_opset()
        ):
            continue  # an old runtime does not load it
        got = run(new_model, inputs * 2 if label == "compose" else inputs)
        assert len(got) == len(want) * (2 if label == "compose" else 1), label
        assert all(same(a, b) for a, b in zip(want * 2, got)), label


def test_training_information_is_left_out_with_a_warning() -> None:
    model = parse("""<ir_version: 8, opset_import: ["" : 12]>
        g (float[N] x) => (float[N] y) <float[1] w = {2}> { y = Mul (x, w) }""")
    model.training_info.add().algorithm.name = "step"
    for tool in (TOOLS["exact"], TOOLS["convert 18"], TOOLS["rename"]):
        with pytest.warns(OnnxwrightWarning, match="OW884"):
            tool(model)


def test_operators_that_are_newer_than_the_opset_are_refused() -> None:
    model = parse("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[N] x) => (float[N] y) { y = Gelu (x) }""")
    for version in (11, 13, 18, 24):
        with pytest.raises(ConversionError, match="Gelu.*version 13 of its opset has no such"):
            ow.convert_version(model, version)


def test_functions_in_the_domain_of_onnx_are_refused() -> None:
    model = parse("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[N] x) => (float[N] y) { y = Gelu (x) }
        <domain: "", opset_import: ["" : 17]> Gelu (a) => (b) { b = Relu (a) }""")
    with pytest.raises(ModelError, match="domain of ONNX's own operators"):
        ow.optimize(model)


def test_a_sparse_weight_that_is_too_large_is_refused() -> None:
    model = sparse_weight()
    model.graph.sparse_initializer[0].dims[:] = [1 << 20, 1 << 20]
    with pytest.raises(ModelError, match=r"OW751.*sparse initializer `w`.*2 GB"):
        ow.convert_version(model, 18)


def test_operators_of_onnx_come_into_a_model_of_another_domain() -> None:
    attributes = trees("class", 3, several=True, seed=2) | {"classlabels_int64s": [7, 3, 5]}
    model = tree_model("TreeEnsembleClassifier", attributes)
    del model.opset_import[:]
    model.opset_import.add(domain="ai.onnx.ml", version=3)
    converted = ow.convert_version(model, domains={"ai.onnx.ml": 5})
    onnx.checker.check_model(converted, full_check=True)
    assert all(same(a, b) for a, b in zip(run(model, [X]), run(converted, [X]), strict=True))


@pytest.mark.parametrize(("shapes", "expected"), [
    ({"x": ["N", 4]}, [["N", 4], ["N", 4]]), ({"x": [3, 4]}, [[3, 4], [3, 4]]),
    ({"x": ["M", 4]}, [["M", 4], ["M", 4]]), ({"x": ["N", 5]}, [["N", None], ["N", None]]),
])  # fmt: skip
def test_declared_shapes_of_unknown_operators(shapes: Any, expected: Any) -> None:
    """What a shape says is kept where nothing is inferred, as far as it still holds."""
    model = parse("""<ir_version: 8, opset_import: ["" : 18, "other" : 1]>
        g (float[N,4] x) => (float[N,4] y) <float[N,4] a> { a = other.F (x)  y = other.G (a) }""")
    new_model = ow.set_shapes(model, shapes)
    new_shapes = [[d.dim_param or d.dim_value or None for d in v.type.tensor_type.shape.dim]
             for v in (*new_model.graph.output, *new_model.graph.value_info)]  # fmt: skip
    assert new_shapes == expected


HEAD = '<ir_version: 7, opset_import: ["" : 18]>'
ONE = f"{HEAD} g (float[4] x) => (float[4] y) {{ y = Abs (x) }}"
DEFAULT = f"{HEAD} g (float[4] z, float[4] y = {{1, 2, 3, 4}}) => (float[4] r) {{ r = Sub (z, y) }}"
COMPOSED: dict[str, tuple[str, str, dict[str, str], int]] = {
    "the second returns what it is given": (ONE, f"{HEAD} g (float[4] x) => (float[4] x) {{ }}",
                                            {"y": "x"}, 1),
    "the first returns what it is given": (f"{HEAD} g (float[4] x) => (float[4] x) {{ }}", ONE,
                                           {"x": "x"}, 1),
    "an input with a default is connected": (ONE, DEFAULT, {"y": "y"}, 2),
    "an input with a default is free": (ONE, DEFAULT, {"y": "z"}, 1),
    "a body has the names of the first": (ONE, f"""{HEAD} g (float[4] q) => (float[4] r) {{
        c = Constant <value = bool {{1}}> ()
        r = If (c) <then_branch = t () => (float[4] y) {{ y = Neg (q) }},
                    else_branch = e () => (float[4] x) {{ x = Exp (q) }}> }}""", {"y": "q"}, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSED)
def test_composing(name: str) -> None:
    first, second, pairs, count = COMPOSED[name]
    prefix = "b_" if "free" in name else None
    composed = ow.compose(parse(first), parse(second), pairs, prefix=prefix)
    onnx.checker.check_model(composed, full_check=True)
    x = np.float32([1, -2, 3, -4])
    z = np.float32([5, 6, 7, 8])
    (between,) = run(parse(first), [x])
    inputs = [z, between] if count == 2 else [between]
    want = run(parse(second), inputs)
    assert np.array_equal(run(composed, [x, z][:count])[-1], want[0])


def test_nodes_that_nothing_reads_are_left_out_where_they_cannot_be_converted() -> None:
    model = parse("""<ir_version: 8, opset_import: ["" : 18]>
        g (float[1,1,2,2] x) => (float[1,1,2,2] y) { y = Abs (x)  d = GridSample (x, x) }""")
    assert [n.op_type for n in ow.convert_version(model, 11).graph.node] == ["Abs"]
