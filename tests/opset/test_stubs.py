"""The generated stub says what the runtime does."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import onnx
import pytest

from onnxwright.opset import Op, Opset, registry, stubs

pytestmark = pytest.mark.skipif(
    f"from onnx {onnx.__version__};" not in stubs.STUB.read_text(encoding="utf-8"),
    reason="the stub is generated from one version of onnx; what runs comes from the installed one",
)


def classes() -> dict[str, ast.ClassDef]:
    tree = ast.parse(stubs.STUB.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def methods(
    domain: str, version: int, classes_by_name: dict[str, ast.ClassDef]
) -> dict[str, ast.FunctionDef]:
    """What a type checker finds in one opset: its own methods and the inherited ones."""
    methods_by_name: dict[str, ast.FunctionDef] = {}
    for v in range(1, version + 1):
        cls = classes_by_name["Opset" + ("_" + domain.replace(".", "_") if domain else "") + str(v)]
        methods_by_name.update({n.name: n for n in cls.body if isinstance(n, ast.FunctionDef)})
    return methods_by_name


def parameters(node: ast.FunctionDef) -> Iterator[tuple[str, Any, Any]]:
    """(name, kind, default) as `inspect` would say; a default of `...` is Ellipsis."""
    args = node.args
    defaults = [None] * (len(args.args) - len(args.defaults)) + list(args.defaults)
    for arg, default in zip(args.args, defaults, strict=True):
        if arg.arg != "self":
            yield arg.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD, value(default)
    if args.vararg:
        yield args.vararg.arg, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.empty
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if arg.arg == "_outputs":  # onnxwright's own keyword, in no schema
            continue
        yield arg.arg, inspect.Parameter.KEYWORD_ONLY, value(default)


def value(default: ast.expr | None) -> Any:
    return inspect.Parameter.empty if default is None else ast.literal_eval(default)


def opsets() -> list[tuple[str, int]]:
    return [(d, v) for d in registry.domains() for v in range(1, registry.newest(d) + 1)]


@pytest.mark.share(3)
@pytest.mark.parametrize(("domain", "version"), opsets())
def test_every_signature_is_that_of_the_runtime(domain: str, version: int) -> None:
    methods_by_name = methods(domain, version, classes())
    opset = Opset(domain, version)
    live = {
        name: node
        for name, node in methods_by_name.items()
        if not any("deprecated" in ast.unparse(d) for d in node.decorator_list)
    }
    assert sorted(live) == list(opset)
    for name, node in live.items():
        op = opset[name]
        assert isinstance(op, Op)
        expected = [
            (p.name, p.kind, ... if isinstance(p.default, onnx.TensorProto) else p.default)
            for p in inspect.signature(op).parameters.values()
        ]
        assert list(parameters(node)) == expected, name


def test_a_class_holds_only_what_changed() -> None:
    previous: dict[str, str] = {}
    for name, cls in classes().items():
        if name.startswith("Opset_"):
            continue
        for node in cls.body:
            if isinstance(node, ast.FunctionDef):
                text = ast.unparse(node)
                assert previous.get(node.name) != text, f"{name}.{node.name}"
                previous[node.name] = text
    assert len(previous) > 100


def test_every_method_has_one_line_of_words_and_its_page() -> None:
    for cls in classes().values():
        for node in cls.body:
            if isinstance(node, ast.FunctionDef):
                doc = ast.get_docstring(node) or ""
                assert "\n" not in doc
                assert doc.endswith(f"_{node.name}.html"), doc
                assert "https://onnx.ai/onnx/operators/onnx_" in doc


def test_it_stays_reviewable() -> None:
    assert len(stubs.STUB.read_text(encoding="utf-8").splitlines()) < 1500


def test_it_is_current() -> None:
    text = stubs.STUB.read_text(encoding="utf-8")
    assert text == stubs.generate(), "run `onnxwright gen-stubs`"
