# ruff: noqa: S102 - the written programs are run
"""One allocator gives every name of a written module: no two things of a model become one name."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import onnxwright as ow

X = np.array([1.0, -2.0, 4.0], np.float32)
HEAD = '<ir_version: 10, opset_import: ["" : 18, "d" : 1]>'

# `A` and `B` stand for two names that become one identifier.
MODELS = {
    "input and initializer": "g (float[3] A) => (float[3] y) <float[1] B = {2}>"
    " { t = Neg(A) u = Add(t, B) y = Mul(u, A) }",
    "value and initializer": "g (float[3] p) => (float[3] y) <float[1] B = {2}>"
    " { t = Mul(p, B) A = Neg(t) y = Add(A, B) }",
    "output and initializer": "g (float[3] p) => (float[3] A) <float[1] B = {2}>"
    " { t = Mul(p, B) A = Neg(t) }",
    "two initializers": "g (float[3] p) => (float[3] y) <float[1] A = {3}, float[1] B = {2}>"
    " { t = Mul(p, B) y = Add(t, A) }",
    "two inputs": "g (float[3] A, float[3] B) => (float[3] y) { t = Neg(A) y = Sub(t, B) }",
    "branch and initializer": "g (float[3] p, bool c) => (float[3] y) <float[1] B = {2}>"
    " { y = If(c) <then_branch = t () => (float[3] o) { A = Neg(p) o = Add(A, B) },"
    " else_branch = e () => (float[3] o2) { o2 = Mul(p, B) }> }",
    "loop and initializer": "g (float[3] p, int64 n) => (float[3] y)"
    " <float[1] B = {2}, bool tr = {1}> { y = Loop(n, tr, p) <body = b (int64 i, bool ci,"
    " float[3] A) => (bool co, float[3] ao) { co = Identity(ci) ao = Mul(A, B) }> }",
    "function and initializer": "g (float[3] p) => (float[3] y) <float[1] B = {2}>"
    ' { t = d.A(p) y = Add(t, B) } <domain: "d", opset_import: ["" : 18]> A (q) => (r)'
    " { r = Neg(q) }",
    "function and input": "g (float[3] A) => (float[3] y) { y = d.B(A) }"
    ' <domain: "d", opset_import: ["" : 18]> B (q) => (r) { r = Neg(q) }',
    "two functions": "g (float[3] p) => (float[3] y) { t = d.A(p) y = d.B(t) }"
    ' <domain: "d", opset_import: ["" : 18]> A (q) => (r) { r = Neg(q) }'
    ' <domain: "d", opset_import: ["" : 18]> B (q) => (r) { r = Exp(q) }',
    "function and its input": "g (float[3] p) => (float[3] y) { y = d.f(p) }"
    ' <domain: "d", opset_import: ["" : 18, "d" : 1]> f (A) => (r) { t = d.B(A) r = Add(t, A) }'
    ' <domain: "d", opset_import: ["" : 18]> B (q) => (r) { r = Exp(q) }',
    "graph and initializer": "A (float[3] p) => (float[3] y) <float[1] B = {2}> { y = Add(p, B) }",
    "value and unread initializer": "g (float[3] p) => (float[3] y) <int64[1] B = {2}>"
    " { A = Neg(p) y = Mul(A, p) }",
    "value and constant": "g (float[3] A) => (float[3] y) { B = Constant <value = float[20]"
    " {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}> () s = ReduceSum <keepdims = 0> (B)"
    " y = Add(A, s) }",
}
# What a written module imports or binds itself.
OWN = ("op", "opset18", "np", "onnx", "FLOAT", "script", "initializer", "Details", "weights", "d")
PAIRS = [
    ("x", "x."), ("a_b", "a.b"), ("a.b", "a_b"), ("a.b", "a/b"), ("fc_weight", "fc.weight"),
    ("input_1", "input.1"), ("g", "g."), ("B_data", "B"), *((name, f"{name}.") for name in OWN),
]  # fmt: skip


def _renamed(text: str, names: dict[str, str]) -> onnx.ModelProto:
    """A model with other names."""
    model = parser.parse_model(f"{HEAD} {text}")

    def walk(message: Any) -> None:
        for field, value in message.ListFields():
            if field.type == field.TYPE_STRING:
                if isinstance(value, str):
                    setattr(message, field.name, names.get(value, value))
                else:
                    value[:] = [names.get(one, one) for one in value]
            elif field.type == field.TYPE_MESSAGE:
                for inner in [value] if hasattr(value, "ListFields") else value:
                    walk(inner)

    walk(model)
    return model


def _feeds(model: onnx.ModelProto) -> dict[str, Any]:
    values = {1: X, 7: np.int64(3), 9: np.array(True)}  # noqa: FBT003
    return {i.name: values[i.type.tensor_type.elem_type] for i in model.graph.input}


def _names(model: onnx.ModelProto) -> Any:
    """The names that others see: of the graph, inputs, outputs, initializers, functions."""
    graph = model.graph
    values = (graph.input, graph.output, graph.initializer, model.functions)
    names = [sorted(v.name for v in one) for one in values]
    return graph.name, names, [list(f.attribute) for f in model.functions]


@pytest.mark.parametrize("kind", MODELS)
def test_a_written_program_computes_what_its_model_computes(kind: str) -> None:
    for first, second in PAIRS:
        model = _renamed(MODELS[kind], {"A": first, "B": second})
        feeds = _feeds(model)
        expected = ow.run_model(model, feeds)
        for operators in (True, False) if first in ("x", "op") else (True,):
            space: dict[str, Any] = {"__name__": "written"}
            exec(ow.to_script(model, operators=operators), space)
            rebuilt = space["make_model"]()
            for one, other in zip(ow.run_model(rebuilt, feeds), expected, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{first} {second}")
            assert _names(rebuilt) == _names(model), (first, second)


ATTRIBUTED = """g (float[2] x) => (float[2] y) {
 y = d.f<AT : float = 2.5, class_ : float = 1.5>(x) }
<domain: "d", opset_import: ["" : 18]> f <AT, class_> (a) => (b) {
c = Constant<value_float : float = @AT>() e = Constant<value_float : float = @class_>()
h = Mul(a, c) b = Add(h, e) }"""


@pytest.mark.parametrize(
    "name", ["alpha", "__debug__", "self", "class", "é", "args", "a b", "f", "None", "_name", "a"]
)
def test_attributes_of_any_name_can_be_given(name: str) -> None:
    """The written program runs eagerly, and its model has the attribute under its own name."""
    model = _renamed(ATTRIBUTED, {"AT": name})
    x = np.ones(2, np.float32)
    space: dict[str, Any] = {"__name__": "written"}
    exec(ow.to_script(model), space)
    rebuilt = space["make_model"]()
    assert _names(rebuilt) == _names(model)
    ow.testing.assert_isomorphic(rebuilt, model)
    np.testing.assert_array_equal(space["g"](x), x * 4)


def test_the_text_of_two_models_is_found_by_exec() -> None:
    """`exec` of a text that no variable holds: the newest written programs are remembered."""
    for first, second in itertools.product("pq", "rs"):
        model = _renamed(MODELS["two inputs"], {"A": first, "B": second})
        space: dict[str, Any] = {"__name__": "written"}
        exec(ow.to_script(model), space)
        assert _names(space["make_model"]()) == _names(model)
