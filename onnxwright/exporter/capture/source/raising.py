"""Errors that are raised for some values of a tensor, and caught by the model's own `except`.

A side of a decision that only raises is a check, which a model has no place for: it is left out.
Where an `except` takes the error, it is not a check: what follows depends on it.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import functools
import itertools
import linecache
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
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
    """What takes an error of the model, or any error, and the line in its block that runs."""
    while frame is not None and frame.f_code.co_filename != CAPTURE:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if is_of_user(file):
            for handler in _handlers(file, line, frame):
                if error is None or _takes(handler, error, frame):
                    return handler, (file, line)
        frame = frame.f_back
    return None


def _handlers(file: str, line: int, frame: FrameType) -> list[ast.ExceptHandler]:
    """What may take an error of a line, innermost first; not what raises again at its end."""
    around = [
        node
        for node in _blocks("".join(linecache.getlines(file)))
        if node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
    ]
    around.sort(key=lambda node: node.lineno, reverse=True)
    found: list[ast.ExceptHandler] = []
    for node in around:
        found += node.handlers if isinstance(node, ast.Try) else _of_with(node, frame)
    return [h for h in found if not isinstance(h.body[-1], ast.Raise)]


@functools.lru_cache(maxsize=16)
def _blocks(text: str) -> list[ast.Try | ast.With]:
    """The `try` and `with` statements of a file."""
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Try, ast.With))]
    except SyntaxError:
        return []


def _of_with(node: ast.With, frame: FrameType) -> Iterator[ast.ExceptHandler]:
    """The managers of a `with` that may take errors, as what an `except` is."""
    for item in node.items:
        made = item.context_expr
        kinds: ast.expr | None = None
        manager = _value_of(made.func if isinstance(made, ast.Call) else made, frame)
        if manager is contextlib.suppress and isinstance(made, ast.Call):
            kinds = ast.Tuple(made.args, ast.Load())
        elif not _takes_errors(manager):
            continue
        handler = ast.ExceptHandler(kinds, None, [ast.Pass()])
        yield ast.copy_location(handler, node)


def _takes_errors(manager: Any) -> bool:
    """Whether a context manager of the user, or what makes one, may take an error."""
    made_by = getattr(manager, "__wrapped__", None)
    if isinstance(made_by, FunctionType):  # `@contextmanager`
        lines = [line for *_, line in made_by.__code__.co_lines() if line is not None]
        text = "".join(linecache.getlines(made_by.__code__.co_filename))
        return any(isinstance(node, ast.Try) and node.handlers and node.lineno in lines
                   for node in _blocks(text))  # fmt: skip
    leave = getattr(manager, "__exit__", None)
    code = getattr(leave, "__code__", None)
    if code is None or not is_of_user(code.co_filename):
        return False
    steps = list(dis.get_instructions(code))
    return any(
        (i.opname == "RETURN_VALUE" and (before.opname != "LOAD_CONST" or bool(before.argval)))
        or (i.opname == "RETURN_CONST" and bool(i.argval))
        for before, i in itertools.pairwise(steps)
    )


def _takes(handler: ast.ExceptHandler, error: BaseException, frame: FrameType) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_is_of(kind, error, frame) for kind in kinds)


def _is_of(kind: ast.expr | None, error: BaseException, frame: FrameType) -> bool:
    """Whether an error is of a kind; also if the kind is not known."""
    found = None if kind is None else _value_of(kind, frame)
    return not isinstance(found, type) or isinstance(error, found)


def _value_of(path: ast.expr, frame: FrameType) -> Any:
    """What a name, or attributes of one, is where a function runs; None if that is not known."""
    found: Any = None
    names = ast.unparse(path).split(".")
    for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
        if names[0] in scope:
            found = scope[names[0]]
            break
    for name in names[1:]:
        found = getattr(found, name, None)
    return found
