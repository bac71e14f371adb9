"""Writes which blocks of the package each test runs, and the processor time that it takes.

    python -m pytest -n 0 -p tests.harness.blocks --blocks=/tmp/blocks tests/exporter
    python -m tools.repeats /tmp/blocks

A block is what runs together: the statements of a body up to one that may go elsewhere.  Modules of
the package are compiled with an assignment at the start of each block; a run is hardly slower.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import json
import os
import sys
import time
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The name of the flags, one a block, among the builtins.
_FLAGS = "__blocks__"
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.AsyncFor, ast.AsyncWith)
# Fixtures with which a test runs the package in other processes, where no block is seen.
_PROCESSES = frozenset({"run_python", "run_loaded", "forks"})


class _Marked(ast.NodeTransformer):
    """Puts `__blocks__[n] = 1` before each block inside of a function."""

    def __init__(self, first: int) -> None:
        self.count = first
        self._depth = 0

    def _flag(self, line: int) -> ast.stmt:
        (flag,) = ast.parse(f"{_FLAGS}[{self.count}] = 1").body
        self.count += 1
        for node in ast.walk(flag):
            if isinstance(node, (ast.stmt, ast.expr)):
                node.lineno = node.end_lineno = line
                node.col_offset = node.end_col_offset = 0
        return flag

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Mark the bodies of a statement."""
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        before = self._depth
        self._depth = before + is_function if not isinstance(node, ast.ClassDef) else 0
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                setattr(node, name, self._marked(body, is_function))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            part.body = self._marked(part.body, False)
        self._depth = before
        return node

    def _marked(self, body: Sequence[ast.stmt], is_function: bool) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        starts = self._depth > 0
        for i, statement in enumerate(body):
            is_docstring = i == 0 and is_function and _is_text(statement)
            if (
                starts
                and not is_docstring
                and not isinstance(statement, (ast.Global, ast.Nonlocal))
            ):
                made.append(self._flag(statement.lineno))
                starts = False
            made.append(self.visit(statement))
            starts = starts or (self._depth > 0 and isinstance(statement, _COMPOUND))
        return made


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def marked(text: str, path: str, first: int) -> tuple[CodeType, int]:
    """A module whose blocks set flags.

    Args:
        text: its source.
        path: where it stands.
        first: the flag of its first block.

    Returns:
        Its code, and the flag after its last one.

    Example:
        >>> code, count = marked(
        ...     "def f(x):\\n    if x:\\n        return 1\\n    return 2", "f.py", 0
        ... )
        >>> count
        3
    """
    transformer = _Marked(first)
    tree = transformer.visit(ast.parse(text))
    return compile(tree, path, "exec", dont_inherit=True), transformer.count


class _Loader(importlib.machinery.SourceFileLoader):
    codes: dict[str, CodeType]

    def get_code(self, fullname: str) -> CodeType | None:
        code = self.codes.get(str(self.path))
        return code if code is not None else super().get_code(fullname)


class _Finder(importlib.abc.MetaPathFinder):
    """Gives the modules of the package with flags."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] != "onnxwright":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, str(spec.loader.path))
        return spec


def _seconds() -> tuple[float, float]:
    times = os.times()
    return time.process_time(), times.children_user + times.children_system


class Recorder:
    """Writes one line of JSON for each test of this process.

    Args:
        file: what its name begins with; the number of the process is put after it.
    """

    def __init__(self, file: str) -> None:
        codes: dict[str, CodeType] = {}
        count = 0
        for path in sorted((ROOT / "onnxwright").rglob("*.py")):
            codes[str(path)], count = marked(path.read_text("utf-8"), str(path), count)
        _Loader.codes = codes
        self._flags = bytearray(count)
        setattr(builtins, _FLAGS, self._flags)
        sys.meta_path.insert(0, _Finder())
        self._file = Path(f"{file}.{os.getpid()}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record a test with its fixtures."""
        self._flags[:] = bytes(len(self._flags))
        before = _seconds()
        try:
            return (yield)
        finally:
            own, children = (b - a for a, b in zip(before, _seconds()))
            packed = zlib.compress(bytes(self._flags), 1)
            line = {
                "test": item.nodeid,
                "seconds": round(own + children, 3),
                "elsewhere": children > 0
                or bool(_PROCESSES & {*getattr(item, "fixturenames", ())}),
                "blocks": b64encode(packed).decode(),
            }
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--blocks`."""
    parser.addoption("--blocks", metavar="FILE", help="write what blocks each test runs")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before anything of the package is imported."""
    file = early_config.known_args_namespace.blocks
    if file is not None:
        early_config.pluginmanager.register(Recorder(file))
