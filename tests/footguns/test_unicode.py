"""Half of a surrogate pair in a name or text: an error that says which, at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright import FLOAT, GraphBuilder, script
from onnxwright import opset20 as op
from onnxwright.errors import OnnxwrightError

BAD = "a\ud800b"
MODEL = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 20]>'
    "g (float[N] x) => (float[N] y) { h = Relu(x)  y = Neg(h) }"
)


@script()
def relu(x: FLOAT["N"]):
    return op.Relu(x)


def built(add: Callable[[GraphBuilder, Any], Any], **options: Any) -> object:
    g = GraphBuilder(opset=20, **options)
    x = g.input("x", FLOAT["N"])
    made = add(g, x)
    g.output(g.op.Neg(x) if made is None else made, "y")
    return g.to_model_proto()


def plain(_: GraphBuilder, x: Any) -> Any:
    return -x


def function_of(*names: str) -> object:
    g = GraphBuilder(opset=20)
    g.output(g.op.Relu(g.input("x", FLOAT["N"])), "y")
    return g.to_function_proto(*names)


def other(op_type: str, domain: str = "my", **options: Any) -> Callable[[GraphBuilder, Any], Any]:
    return lambda g, x: g.node(
        op_type, [x], domain=domain, version=1, output_types=FLOAT["N"], **options
    )


CALLS: dict[str, Callable[[], object]] = {
    "rename a value": lambda: ow.rename(MODEL, values={"h": BAD}),
    "rename an input": lambda: ow.rename(MODEL, inputs={"x": BAD}),
    "rename an output": lambda: ow.rename(MODEL, outputs={"y": BAD}),
    "rename a dimension": lambda: ow.rename(MODEL, dims={"N": BAD}),
    "compose": lambda: ow.compose(MODEL, MODEL, [("y", "x")], prefix=BAD),
    "set_shapes": lambda: ow.set_shapes(MODEL, {"x": [BAD]}),
    "set_shapes, a name": lambda: ow.set_shapes(MODEL, dims={"N": BAD}),
    "a file": lambda: ow.convert_version(MODEL, 21, output=BAD),
    "a dimension": lambda: FLOAT[BAD],
    "an input": lambda: built(lambda g, _: g.input(BAD, FLOAT["N"])),
    "a shape": lambda: built(lambda g, _: g.input("z", FLOAT, [BAD])),
    "a description": lambda: built(lambda g, _: g.input("z", FLOAT["N"], doc_string=BAD)),
    "an initializer": lambda: built(lambda g, x: x + g.initializer(np.ones(2, np.float32), BAD)),
    "strings": lambda: built(
        lambda g, _: g.op.Identity(g.initializer(np.array([BAD], object), "s"))
    ),
    "an output": lambda: built(lambda g, x: g.output(g.op.Relu(x), BAD)),
    "a node": lambda: built(lambda g, x: g.node("Relu", [x], name=BAD)),
    "outputs of a node": lambda: built(lambda g, x: g.node("Relu", [x], outputs=[BAD])),
    "an operator": lambda: built(other(BAD)),
    "a domain": lambda: built(other("Foo", BAD)),
    "an attribute": lambda: built(other("Foo", attributes={BAD: 1})),
    "the value of an attribute": lambda: built(other("Foo", attributes={"a": BAD})),
    "values of an attribute": lambda: built(other("Foo", attributes={"a": [BAD]})),
    "of an operator": lambda: built(lambda g, x: g.op.Constant(value_string=BAD)),
    "a graph": lambda: built(plain, name=BAD),
    "a model": lambda: built(plain, doc_string=BAD),
    "a producer": lambda: built(plain, producer_name=BAD),
    "metadata": lambda: built(plain, metadata={"a": BAD}),
    "a function": lambda: function_of("d", BAD),
    "the domain of a function": lambda: function_of(BAD, "f"),
    "an overload": lambda: function_of("d", "f", BAD),
    "an opset": lambda: ow.Opset(BAD, 1),
    "an operator of it": lambda: ow.Opset("my", 1)[BAD],
    "a compiled script": lambda: relu.to_model_proto(doc_string=BAD),
    "an eager attribute": lambda: op.RegexFullMatch(np.array(["a"], object), pattern=BAD),
}


@pytest.mark.parametrize("what", CALLS)
def test_text_that_no_model_can_hold(what: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OnnxwrightError, match=r"OW627.*a\\ud800b") as raised:
        CALLS[what]()
    text = str(raised.value)
    assert Path(__file__).name in text
    assert text.isascii()


def test_text_beyond_ascii_is_a_name() -> None:
    made = ow.rename(MODEL, values={"h": "größe"}, dims={"N": "länge"})
    assert [n.output[0] for n in made.graph.node] == ["größe", "y"]
    assert ow.Opset("домен", 1)["Оператор"].name == "Оператор"
