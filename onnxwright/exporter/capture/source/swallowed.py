"""Decisions by values that PyTorch refused, and that the model's own `except` took for failures.

`try: if x.sum() > 0: ... except RuntimeError: ...` was captured as if the `try` always failed.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.source.expressions import RUNTIME
from onnxwright.exporter.capture.source.machinery import is_machinery
from onnxwright.exporter.capture.source.value_errors import SwallowedError

_OWN = str(Path(__file__).parent)
_BROAD = ("Exception", "BaseException", "RuntimeError")


@contextmanager
def refusals_raised() -> Iterator[None]:
    """While it lasts, PyTorch's refusal of a decision is not lost in an `except` of the model.

    Raises:
        SwallowedError: at the end, if one was.
    """
    made = GuardOnDataDependentSymNode.__init__
    found: list[FrameType] = []

    def init(self: Any, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        if not found:
            frame = _asking(sys._getframe(1))
            if frame is not None:
                found.append(frame)

    GuardOnDataDependentSymNode.__init__ = init
    try:
        yield
    finally:
        GuardOnDataDependentSymNode.__init__ = made
    if found:
        raise SwallowedError(found[0])


def _asking(frame: FrameType | None) -> FrameType | None:
    """The model's function that asks, if it or one that called it would catch the refusal."""
    asking: FrameType | None = None
    while frame is not None and frame.f_code.co_name != "refusals_raised":
        file = frame.f_code.co_filename
        if file.startswith(_OWN) and frame.f_code.co_name != "__torch_function__":
            return None  # what decides for rewritten code knows what to do
        owner = owner_of(file)
        if owner is not Owner.PYTHON and not is_machinery(file):
            if asking is None and owner is Owner.TORCH:
                return None  # a function of torch that knows what to do
            asking = asking or frame
            if _is_rewritten(asking):
                return None
            if _catches(file, frame.f_lineno):
                return asking
        frame = frame.f_back
    return None


def _is_rewritten(frame: FrameType) -> bool:
    code = frame.f_code
    return RUNTIME in (*code.co_varnames, *code.co_freevars, *code.co_cellvars)


def _catches(file: str, line: int) -> bool:
    """Whether a line is in a `try` that takes errors of PyTorch."""
    lines = linecache.getlines(file)
    known, found = _TRIES.get(file, (None, []))
    # linecache keeps one list for a file until it is read again.
    if known is not lines:
        found = _broad_tries(lines)
        _TRIES[file] = (lines, found)
    return any(line in body for body in found)


# file -> its lines, and those of its `try` bodies; frames of one file ask for each decision.
_TRIES: dict[str, tuple[list[str], list[range]]] = {}


def _broad_tries(lines: list[str]) -> list[range]:
    """The lines of every `try` body whose errors of PyTorch are taken."""
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return []
    return [
        range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any(_is_broad(handler.type) for handler in node.handlers)
    ]


def _is_broad(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(k is None or ast.unparse(k).rpartition(".")[2] in _BROAD for k in kinds)
