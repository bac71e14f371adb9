"""Every module, file and page that a docstring, a comment or a page names is there.

Read without importing anything: what a module has at its top level is read by `ast`.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools.architecture import module_files

ROOT = Path(__file__).resolve().parents[1]
MODULES = {name.removeprefix("onnxwright."): path for name, path in module_files(ROOT).items()}
PACKAGES = sorted({name.partition(".")[0] for name, path in MODULES.items() if "." in name})
# Folders and files of the repository, as texts name them.
_PATH = re.compile(
    r"(?<![\w./-])((?:onnxwright|docs|tests|tools|benchmarks|examples)/[\w./-]*\w(?:\.\w+)?)"
)
_DOTTED = re.compile(rf"`((?:onnxwright\.)?(?:{'|'.join(PACKAGES)})(?:\.\w+)+)(?=[(`])")
# A class, by the module that has it.
_CLASS = re.compile(r"`(\w+)\.([A-Z]\w*[a-z]\w*)(?=[(`])")
# Plans that are not in the repository, and numbers that stages do not have.
_GONE = re.compile(r"\bDESIGN\b|\b[Ss]tage \d+\b")
# `ir` is what programs call onnx_ir, `op` an opset, and `types` is a module of Python as well.
_ELSEWHERE = ("ir", "op", "types")


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a Python file with their lines; all of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node, clean=False)
            if doc:
                yield node.body[0].lineno, doc
    with path.open("rb") as lines:
        for token in tokenize.tokenize(lines.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


@cache
def names_of(module: str) -> frozenset[str]:
    """The names that a module has: at its top level, in its classes, in its tables."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # of tables that `__getattr__` reads
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((a.asname or a.name).partition(".")[0] for a in node.names)
    return frozenset(names)


def resolves(dotted: str) -> bool:
    """Whether a dotted name is a module of the package, or a name that one of them has."""
    parts = dotted.removeprefix("onnxwright.").split(".")
    for n in range(len(parts), 0, -1):
        module = ".".join(parts[:n])
        if module in MODULES:
            return n == len(parts) or parts[n] in names_of(module)
    return False


def missing(text: str) -> Iterator[str]:
    """What a text names that is not there."""
    for name in _DOTTED.findall(text):
        if name.partition(".")[0] not in _ELSEWHERE and not resolves(name):
            yield name
    for module, name in _CLASS.findall(text):
        places = [m for m in MODULES if m.rpartition(".")[2] == module not in _ELSEWHERE]
        if places and not any(name in names_of(m) for m in places):
            yield f"{module}.{name}"
    for name in _PATH.findall(text):
        if not any(ROOT.glob(name + "*")):  # of `docs/benchmarks.*` it is the part before the star
            yield name
    for match in _GONE.finditer(text):
        yield match.group(0)


def test_what_is_missing_is_found() -> None:
    text = "`tracing.nowhere`, `replay.Nothing`, `onnxwright.tracing.backend.Nothing`, stage 7"
    text += ", docs/nowhere.md"
    assert sorted(missing(text)) == [
        "docs/nowhere.md",
        "onnxwright.tracing.backend.Nothing",
        "replay.Nothing",
        "stage 7",
        "tracing.nowhere",
    ]
    there = "`tracing.backend.TracingBackend`, `ir.Model`, `tracing`, onnxwright/errors.py"
    assert not list(missing(there))


@pytest.mark.parametrize("folder", ["onnxwright", "tools", "tests", "docs", "."])
def test_what_a_text_names_is_there(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py") if folder not in ("docs", ".") else ())
    files += sorted((ROOT / folder).rglob("*.md") if folder == "docs" else ())
    if folder == ".":
        files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    problems = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files
        if path.name != "map.md" and path != Path(__file__)
        if any(missing(path.read_text(encoding="utf-8")))
        for line, text in texts_of(path)
        for name in missing(text)
    ]
    assert not problems, "\n".join(problems)
