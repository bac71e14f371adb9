"""The stub of `GraphBuilder` has the operators of each opset, as they can be called."""

from __future__ import annotations

import ast
import inspect

import onnx
import pytest

import onnxwright as ow
from onnxwright.builder import stubs
from onnxwright.opset import registry

STUB = stubs.STUB.read_text(encoding="utf-8")
pytestmark = pytest.mark.skipif(
    f"from onnx {onnx.__version__};" not in STUB,
    reason="the stub is generated from one version of onnx; what runs comes from the installed one",
)
CLASSES = {n.name: n for n in ast.parse(STUB).body if isinstance(n, ast.ClassDef)}


def methods(version: int) -> dict[str, ast.FunctionDef]:
    definitions: dict[str, ast.FunctionDef] = {}
    for v in range(1, version + 1):
        body = CLASSES[f"Ops{v}"].body
        definitions.update({n.name: n for n in body if isinstance(n, ast.FunctionDef)})
    return definitions


@pytest.mark.parametrize("version", [1, 13, 18, registry.newest()])
def test_an_opset_has_its_operators(version: int) -> None:
    signatures = {n: registry.signature("", n, version) for n in registry.all_names("")}
    there = {name for name, sig in signatures.items() if sig is not None and not sig.deprecated}
    typed = methods(version)
    assert there <= typed.keys()
    for name in typed.keys() - there:
        assert "deprecated" in ast.dump(typed[name]), name
    g = ow.GraphBuilder(opset=version)
    assert all(callable(getattr(g.op, name)) for name in sorted(there))


def test_calls_take_what_the_builder_takes() -> None:
    relu = methods(18)["Relu"]
    keywords = {a.arg for a in relu.args.kwonlyargs}
    assert keywords == {"name", "outputs", "output_types", "_name", "_outputs"}
    g = ow.GraphBuilder(opset=18)
    x = g.input("x", ow.FLOAT["N"])
    y = g.op.Relu(x, name="act", outputs=["y"], output_types=ow.FLOAT["N"])
    z = g.op.Relu(y, _name="act2", _outputs=["z"])
    assert (y.value.name, z.value.name) == ("y", "z")


def test_results_are_as_many_as_the_schema_says() -> None:
    said = {name: ast.unparse(node.returns or node) for name, node in methods(18).items()}
    assert said["Relu"] == "GraphValue"
    assert said["TopK"] == "tuple[GraphValue, GraphValue]"
    assert said["Split"] == said["Dropout"] == said["If"] == "Any"


def test_the_builder_has_the_options_that_it_takes() -> None:
    options = [*inspect.signature(ow.GraphBuilder.__init__).parameters][1:]
    overloads = [
        node for node in CLASSES["GraphBuilder"].body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]  # fmt: skip
    assert len(overloads) == registry.newest() + 2
    assert all([a.arg for a in node.args.kwonlyargs] == options for node in overloads)


def test_it_is_current() -> None:
    assert stubs.generate() == STUB, "run `onnxwright gen-stubs --builder`"
