"""`fold_constants`, `inline`, `remove_unused`, `replace_functions`, and the passes behind them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser
from onnx_ir.passes import Sequential
from onnx_ir.passes.common import CheckerPass, IdentityEliminationPass

import onnxwright as ow
from onnxwright import FLOAT
from onnxwright.cli.main import main
from onnxwright.errors import ConversionError, ModelError, ModelToolError
from onnxwright.ir.nested import all_nodes

HEAD = '<ir_version: 10, opset_import: ["" : 18, "d" : 1]> '
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def model(text: str, functions: str = "") -> onnx.ModelProto:
    return parser.parse_model(f"{HEAD} g {text} {functions}")


def function(body: str, name: str = "f", opset: int = 18, domain: str = "d") -> str:
    return f'<domain: "{domain}", opset_import: ["" : {opset}, "d" : 1]> {name} {body}'


def operators(new_model: Any) -> list[str]:
    loaded = ow.load(new_model)
    return [n.op_type for n in all_nodes(loaded.graph)]


def same(a: Any, b: Any, inputs: Sequence[Any] = (X,)) -> None:
    for one, other in zip(ow.run_model(a, inputs), ow.run_model(b, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


X_TO_Y = "(float[2,3] x) => (float[2,3] y) "
LOOP = """<int64 n = {3}, bool c = {1}> { y = Loop(n, c, x) <body = b (int64 i, bool ci,
    float[2,3] s) => (bool co, float[2,3] t) { co = Identity(ci) t = Add(s, x) }> }"""
FOLDED = {
    "constants": (
        X_TO_Y
        + """{ a = Constant<value_float=2.0>() b = Constant<value_float=3.0>()
        c = Mul(a, b) y = Mul(x, c) }""",
        ["Mul"],
    ),
    "a known shape": (
        """(float[2,3] x) => (float[6] y) <int64[1] m = {-1}>
        { s = Shape(x) p = ReduceProd<keepdims=0>(s) t = Reshape(p, m) y = Reshape(x, t) }""",
        ["Reshape"],
    ),
    "weights": (
        X_TO_Y + "<float[3] w = {1,2,3}, float[3] v = {3,2,1}> { s = Add(w, v) y = Mul(x, s) }",
        ["Mul"],
    ),
    "what reads an input stays": (
        X_TO_Y + "{ a = Identity(x) b = Abs(a) c = Identity(x) d = Abs(c) y = Add(b, d) }",
        ["Identity", "Abs", "Identity", "Abs", "Add"],
    ),
    "an operator that adds nothing": (X_TO_Y + "<float z = {0}> { y = Add(x, z) }", ["Add"]),
    "a loop of three iterations": (X_TO_Y + LOOP, ["Loop", "Add", "Constant"]),
    "the size of a shape": (
        X_TO_Y + "{ n = Shape(x) k = Size(n) two = Cast<to=1>(k) y = Mul(x, two) }",
        ["Mul"],
    ),
}


@pytest.mark.parametrize("case", FOLDED)
def test_what_is_folded(case: str) -> None:
    text, expected = FOLDED[case]
    source = model(text)
    folded = ow.fold_constants(source)
    assert operators(folded) == expected
    same(source, folded)


def test_an_input_with_a_default_is_not_folded() -> None:
    source = model("(float[2,3] x, float w = {2.0}) => (float[2,3] y) { a = Neg(w) y = Mul(x, a) }")
    assert operators(ow.fold_constants(source)) == ["Neg", "Mul"]


def test_random_numbers_are_not_folded() -> None:
    source = model("(float[2,3] x) => (float[2,3] y) { r = RandomNormal<shape=[2,3]>() "
                  "y = Add(x, r) }")  # fmt: skip
    assert operators(ow.fold_constants(source)) == ["RandomNormal", "Add"]


def test_keep_and_exact() -> None:
    source = model(FOLDED["weights"][0])
    assert operators(ow.fold_constants(source, keep=["w"])) == ["Add", "Mul"]
    assert operators(ow.fold_constants(source, exact=True)) == ["Add", "Mul"]


CALLS = "(float[2,3] x) => (float[2,3] y) { h = d.f(x) y = d.g(h) }"
BOTH = function("(a) => (b) { c = d.g(a) b = Neg(c) }") + function("(a) => (b) { b = Abs(a) }", "g")


def test_all_calls_are_inlined() -> None:
    source = model(CALLS, BOTH)
    inlined = ow.inline(source)
    assert operators(inlined) == ["Abs", "Neg", "Abs"]
    assert not inlined.functions
    assert [o.domain for o in inlined.opset_import] == [""]
    same(source, inlined)


@ow.script(ow.Opset("d", 1))
def g(a: FLOAT[...]) -> FLOAT[...]:
    return abs(a)


@pytest.mark.parametrize("which", [
    "g", "d.g", ["d.g"], [("d", "g")], [("d", "g", "")], [g], lambda f: f.name == "g",
])  # fmt: skip
def test_named_functions_are_inlined(which: Any) -> None:
    source = model(CALLS, BOTH)
    inlined = ow.inline(source, which)
    assert [f.name for f in inlined.functions] == ["f"]
    assert operators(inlined) == ["f", "Abs"]
    same(source, inlined)


def test_calls_in_bodies_are_inlined() -> None:
    source = model(
        "(float[2] x, bool c) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] p) "
        "{ p = d.g(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> }",
        function("(a) => (b) { b = Abs(a) }", "g"),
    )
    inlined = ow.inline(source)
    assert operators(inlined) == ["If", "Abs", "Neg"]
    same(source, inlined, [X[0, :2], np.array(True)])


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_a_function_of_another_opset_is_converted(opset: int) -> None:
    call = "ReduceSum<axes=[1]>(a)" if opset < 13 else "ReduceSum(a, k)"
    body = f"(a) => (b) {{ k = Constant<value_ints=[1]>() b = {call} }}"
    if opset < 13:
        body = body.replace("k = Constant<value_ints=[1]>()", "")
    source = model("(float[2,3] x) => (float[2,1] y) { y = d.f(x) }", function(body, opset=opset))
    inlined = ow.inline(source)
    onnx.checker.check_model(inlined, full_check=True)
    np.testing.assert_array_equal(ow.run_model(inlined, [X])[0], X.sum(1, keepdims=True))


def test_attributes_of_calls_are_inlined() -> None:
    source = model("(float[2,3] x) => (float[2,3] y) { y = d.f<k = 1>(x) }",
                  function("<k>(a) => (b) { b = Softmax<axis: int = @k>(a) }"))  # fmt: skip
    inlined = ow.inline(source)
    assert inlined.graph.node[0].attribute[0].i == 1
    same(source, inlined)


def test_an_unknown_function_is_told() -> None:
    with pytest.raises(ModelToolError, match=r"OW876(.|\n)*its functions are d.f, d.g"):
        ow.inline(model(CALLS, BOTH), ["h"])


def test_what_nothing_needs_is_removed() -> None:
    source = model(
        "(float[2] x, bool c) => (float[2] y) <float[2] w = {1,2}> { a = Mul(x, w) b = d.f(x) "
        "y = If(c) <then_branch = t () => (float[2] p) <float[2] v = {1,2}> "
        "{ u = Abs(x) p = Neg(x) }, else_branch = e () => (float[2] q) { q = d.g(x) }> }", BOTH,
    )  # fmt: skip
    pruned = ow.remove_unused(source)
    assert operators(pruned) == ["If", "Neg", "g"]
    assert [f.name for f in pruned.functions] == ["g"]
    assert not pruned.graph.initializer
    assert "v" not in str(pruned.graph.node[0].attribute[0].g.initializer)
    assert {o.domain for o in pruned.functions[0].opset_import} == {""}
    same(source, pruned, [X[0, :2], np.array(True)])


def test_unused_inputs_stay() -> None:
    source = model("(float[2] x, float[2] z = {1, 2}) => (float[2] y) { y = Neg(x) }")
    pruned = ow.remove_unused(source)
    assert [i.name for i in pruned.graph.input] == ["x", "z"]
    assert len(pruned.graph.initializer) == 1


def test_scales_that_annotations_name_stay() -> None:
    source = model("(float[2] x) => (float[2] y) <float s = {0.5}, float t = {1}> { y = Neg(x) }")
    note = source.graph.quantization_annotation.add(tensor_name="x")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    assert [i.name for i in ow.remove_unused(source).graph.initializer] == ["s"]


REPLACED = {
    "a script": g,
    "a FunctionProto": parser.parse_function(function("(z) => (w) { w = Abs(z) }", "a")),
    "a function of onnx_ir": ir.from_proto(
        parser.parse_function(function("(z) => (w) { w = Abs(z) }", "a"))
    ),
    "of another opset": parser.parse_function(function("(z) => (w) { w = Abs(z) }", opset=14)),
}


@pytest.mark.parametrize("kind", REPLACED)
@pytest.mark.parametrize("key", ["f", "d.f", ("d", "f")], ids=str)
def test_a_function_is_replaced(kind: str, key: Any) -> None:
    source = model("(float[2,3] x) => (float[2,3] y) { y = d.f(x) }",
                  function("(a) => (b) { b = Neg(a) }"))  # fmt: skip
    replaced = ow.replace_functions(source, {key: REPLACED[kind]})
    assert [(f.domain, f.name) for f in replaced.functions] == [("d", "f")]
    np.testing.assert_array_equal(ow.run_model(replaced, [X])[0], np.abs(X))
    assert operators(ow.inline(replaced)) == ["Abs"]


def test_a_custom_operator_gets_a_definition_with_the_scripts_it_calls() -> None:
    @ow.script(ow.Opset("mine", 1))
    def outer(a: FLOAT[...]) -> FLOAT[...]:
        return -g(a)

    source = model("(float[2,3] x) => (float[2,3] y) { y = d.Magic(x) }")
    replaced = ow.replace_functions(source, {"d.Magic": outer})
    assert {f.name for f in replaced.functions} == {"Magic", "g"}
    np.testing.assert_array_equal(ow.run_model(replaced, [X])[0], -np.abs(X))


def test_a_replacement_of_another_opset_is_converted() -> None:
    source = model("(float[2,3] x) => (float[2,1] y) { y = d.f(x) }")
    old = parser.parse_function(function("(a) => (b) { b = ReduceSum<axes=[1]>(a) }", opset=11))
    replaced = ow.replace_functions(source, {"d.f": old})
    np.testing.assert_array_equal(ow.run_model(replaced, [X])[0], X.sum(1, keepdims=True))


REFUSED = {
    "no such function": ({"d.h": g}, ModelToolError, "OW876"),
    "not a function": ({"d.f": 3}, ModelToolError, "OW882.*type int is not a function"),
    "too few inputs": ({"d.f": parser.parse_function(function("() => (b) "
                        "{ b = Constant<value_float=1.0>() }"))}, ModelToolError,
                       "OW882.*a call has 1 inputs"),
    "an attribute that calls do not give": (
        {"d.f": parser.parse_function(
            function("<k>(a) => (b) { b = Softmax<axis: int = @k>(a) }"))},
        ModelToolError, "OW882.*needs the attribute `k`"),
    "a circle": ({"d.f": parser.parse_function(function("(a) => (b) { b = d.f(a) }"))},
                 ModelError, "OW744.*cycle"),
    "an operator that the opset of the model does not have": (
        {"d.f": parser.parse_function(function("(a) => (b) { b = RMSNormalization(a, a) }",
                                               opset=23))}, ConversionError, "OW870"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    source = model("(float[2,3] x) => (float[2,3] y) { y = d.f(x) }",
                  function("(a) => (b) { b = Neg(a) }"))  # fmt: skip
    replacements, error, text = REFUSED[case]
    with pytest.raises(error, match=text) as caught:
        ow.replace_functions(source, replacements)
    assert "test_parts.py" in str(caught.value) or error is ConversionError


def test_passes_chain_with_those_of_others() -> None:
    source = model(
        "(float[2,3] x) => (float[2,3] y) { s = Shape(x) h = d.f(x) i = Identity(h) "
        "k = Reshape(i, s) y = d.g(k) }", BOTH,
    )  # fmt: skip
    held = ir.from_proto(source)
    chain = Sequential(
        ow.passes.ReplaceFunctions({"d.f": REPLACED["a FunctionProto"]}), ow.passes.Inline(),
        IdentityEliminationPass(), ow.passes.FoldConstants(), ow.passes.RemoveUnused(),
        CheckerPass(),
    )  # fmt: skip
    result = chain(held)
    assert result.model is held
    assert result.modified
    assert operators(held) == ["Abs", "Reshape", "Abs"]
    np.testing.assert_array_equal(ow.run_model(held, [X])[0], np.abs(X))


@pytest.mark.parametrize("name", ["FoldConstants", "Inline", "RemoveUnused"])
def test_a_pass_says_that_it_changed_nothing(name: str) -> None:
    held = ir.from_proto(model("(float[2,3] x) => (float[2,3] y) { y = Abs(x) }"))
    del held.graph.opset_imports["d"]
    one = getattr(ow.passes, name)()
    assert isinstance(one, ir.passes.InPlacePass)
    assert not one(held).modified


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model(CALLS.replace("{ h", "{ u = Neg(x) h"), BOTH), "m.onnx")
    Path("my.py").write_text(
        "from onnxwright import FLOAT, script\n@script\ndef mine(a: FLOAT[...]):\n"
        "    return a + a\n"
    )
    assert main("inline m.onnx -o flat.onnx --verify".split()) == 0
    assert operators("flat.onnx") == ["Abs", "Neg", "Abs"]
    assert main("inline m.onnx --function d.g -o one.onnx --verify".split()) == 0
    assert "f" in operators("one.onnx")
    assert main("remove-unused m.onnx -o used.onnx --verify".split()) == 0
    assert operators("used.onnx") == ["f", "g"]
    assert main("replace-functions m.onnx --function d.g=my.py:mine -o new.onnx".split()) == 0
    np.testing.assert_array_equal(ow.run_model("new.onnx", [X])[0], -4 * X)
    onnx.save(model(FOLDED["weights"][0]), "w.onnx")
    assert main("fold w.onnx -o folded.onnx --verify".split()) == 0
    assert operators("folded.onnx") == ["Mul"]
    assert main("fold w.onnx -o kept.onnx --keep w".split()) == 0
    assert operators("kept.onnx") == ["Add", "Mul"]
    assert main("replace-functions m.onnx --function d.g -o no.onnx".split()) == 2


def test_nothing_to_replace_changes_nothing() -> None:
    """The IR version is raised for functions, where there are some."""
    text = '<ir_version: 4, opset_import: ["" : 9]> g (float[2] x) => (float[2] y) { y = Abs(x) }'
    source = onnx.parser.parse_model(text)
    replaced = ow.replace_functions(source, {})
    assert (replaced.ir_version, [n.op_type for n in replaced.graph.node]) == (4, ["Abs"])
