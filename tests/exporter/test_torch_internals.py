"""Names of PyTorch that begin with an underscore are listed, and each is used in one module."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import onnxwright.exporter as package
from onnxwright.exporter.torch_internals import DOCUMENTED, PRIVATE

ROOT = Path(str(package.__file__)).parent


def _names(tree: ast.AST) -> Iterator[str]:
    """Every full name of PyTorch in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("torch."))
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name.startswith("torch.") and all(p.isidentifier() for p in name.split(".")):
                yield name


def private_names(text: str) -> set[str]:
    """The private ones in the text of a module, each by its longest form."""
    found = {
        name
        for name in _names(ast.parse(text))
        if any(p.startswith("_") and not p.startswith("__") for p in name.split("."))
    }
    return {n for n in found if not any(other.startswith(f"{n}.") for other in found)} - DOCUMENTED


def test_private_names_are_found() -> None:
    text = "import torch\nfrom torch._C import f\nx = torch._a.b(torch.c, torch.__version__)\n"
    assert private_names(text) == {"torch._C.f", "torch._a.b"}


def test_each_private_name_is_listed_and_stands_in_one_module() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(ROOT.rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        for name in private_names(file.read_text(encoding="utf-8")):
            places[name].append(path)
    assert {name: there for name, there in places.items() if len(there) > 1} == {}
    assert sorted(places) == sorted(PRIVATE)
    assert all(PRIVATE.values())


def test_frames_of_python_are_looked_up_in_one_module() -> None:
    """Beside it, a program asks for the tool of torch.onnx that called it."""
    files = {path for path in ROOT.rglob("*.py") if "_getframe" in path.read_text("utf-8")}
    assert {path.relative_to(ROOT).as_posix() for path in files} == {
        "capture/session/model_lines.py", "program/sessions.py",
    }  # fmt: skip
