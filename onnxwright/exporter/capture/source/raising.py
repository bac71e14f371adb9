"""Errors that are raised for some values of a tensor, and caught by the model's own `except`.

A side of a decision that only raises is a check, which a model has no place for: it is left out.
Where an `except` takes the error, it is not a check: what follows depends on it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from onnxwright.exporter.capture.source.errors import CaughtError
from onnxwright.exporter.capture.source.regions import Region
from onnxwright.exporter.capture.source.state import State
from onnxwright.exporter.places import CAPTURE, is_of_user, line_of

# An `except`, with the file and the line of its `try` that runs.
_Handler = tuple[ast.ExceptHandler, tuple[str, int]]


def refuse_caught(side: Callable[[], Any], state: State | None = None) -> None:
    """Refuse a decision of which one side raises an error that the model catches.

    Args:
        side: it.
        state: what it changes, if anything; as before afterwards.

    Raises:
        CaughtError: an `except` of the model takes the error.
    """
    if _handler(sys._getframe(1), None) is None:
        return
    error: BaseException | None = None
    before = None if state is None else state.read()
    with Region() as region:
        try:
            side()
        except Exception as raised:  # noqa: BLE001 - whatever the model raises
            error = raised
        region.discard()
    if state is not None and before is not None:
        state.write(before)
    found = _handler(sys._getframe(1), error)
    if error is not None and found is not None:
        raise CaughtError(type(error).__name__, found[0].lineno)


def refuse_handled(error: Exception) -> None:
    """Refuse an error that Python raises for some values only, if the model catches it.

    Args:
        error: one like it.

    Raises:
        CaughtError: an `except` of the model takes the error.
    """
    found = _handler(sys._getframe(1), error)
    if found is not None:
        refused = CaughtError(type(error).__name__, found[0].lineno)
        refused.span = line_of(*found[1])
        raise refused


def _handler(frame: FrameType | None, error: BaseException | None) -> _Handler | None:
    """The `except` of the model that takes an error, or any error, and the line of its `try`."""
    while frame is not None and frame.f_code.co_filename != CAPTURE:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if is_of_user(file):
            for handler in _handlers(file, line):
                if error is None or _takes(handler, error, frame):
                    return handler, (file, line)
        frame = frame.f_back
    return None


def _handlers(file: str, line: int) -> list[ast.ExceptHandler]:
    """What may take an error of a line, innermost first; not what raises again at its end."""
    around = [
        node
        for node in _tries("".join(linecache.getlines(file)))
        if node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
    ]
    around.sort(key=lambda node: node.lineno, reverse=True)
    return [h for node in around for h in node.handlers if not isinstance(h.body[-1], ast.Raise)]


@functools.lru_cache(maxsize=16)
def _tries(text: str) -> list[ast.Try]:
    """The `try` statements of a file."""
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Try)]
    except SyntaxError:
        return []


def _takes(handler: ast.ExceptHandler, error: BaseException, frame: FrameType) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_is_of(kind, error, frame) for kind in kinds)


def _is_of(kind: ast.expr | None, error: BaseException, frame: FrameType) -> bool:
    """Whether an error is of a kind; also if the kind is not known."""
    if kind is None:
        return True
    found: Any = None
    path = ast.unparse(kind).split(".")
    for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
        if path[0] in scope:
            found = scope[path[0]]
            break
    for name in path[1:]:
        found = getattr(found, name, None)
    return not isinstance(found, type) or isinstance(error, found)
