"""The Python line that called: the first frame outside this package, as a span.

Walked only when a message needs it, never on a call that succeeds.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, FrameType

from onnxwright.diagnostics.span import Span, source_line

_HOME = str(Path(__file__).parent.parent) + os.sep
_PACKAGE = __name__.split(".", maxsplit=1)[0] + "."
# A `with` statement calls through the standard library's own frames.
_BETWEEN = contextlib.__file__
# `onnx_ir` calls ours: its runner of passes does, and tensors that are computed when they are read.
_BELOW = "onnx_ir."


def is_internal(file: str, names: Mapping[str, object]) -> bool:
    """Whether code belongs to this package (and is not a line of the user's).

    Args:
        file: the `co_filename` of a code object.
        names: its globals: code that Python generates has no file, but its module's globals.

    Returns:
        True for the modules of onnxwright.
    """
    if file.startswith(_HOME) or file == _BETWEEN:
        return True
    module = names.get("__name__")
    if not isinstance(module, str):
        return False
    return module.startswith(_BELOW) or (file == "<string>" and module.startswith(_PACKAGE))


def user_span() -> Span | None:
    """The place of the innermost call outside this package.

    Returns:
        The span, with exact columns where Python keeps them; None without such a frame.
    """
    frame = _user_frame(sys._getframe(1))
    return None if frame is None else span_of(frame)


def user_names(*values: object) -> list[str | None]:
    """The variables that hold objects where the innermost call outside this package is made.

    Returns:
        For each the first local variable that is this very object, or None.
    """
    frame = _user_frame(sys._getframe(1))
    held = {} if frame is None else frame.f_locals
    return [next((name for name, one in held.items() if one is value), None) for value in values]


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside this package."""
    while frame is not None and is_internal(frame.f_code.co_filename, frame.f_globals):
        frame = frame.f_back
    return frame


def span_of(frame: FrameType) -> Span:
    """What a frame is at, as a span.

    Args:
        frame: a frame of Python code.

    Returns:
        The span of the expression being evaluated, or of its whole line.
    """
    code = frame.f_code
    exact = _positions(code, frame.f_lasti)
    if exact is not None:
        return exact
    line = frame.f_lineno or code.co_firstlineno
    text = source_line(code.co_filename, line) or ""
    indent = len(text) - len(text.lstrip())
    return Span(code.co_filename, line, indent, line, max(len(text), indent + 1))


def _positions(code: CodeType, lasti: int) -> Span | None:
    """The exact columns of an instruction; Python 3.10 has none."""
    table = getattr(code, "co_positions", None)
    if table is None or lasti < 0:
        return None
    position = next(itertools.islice(table(), lasti // 2, None), None)
    if position is None:
        return None
    line, end_line, col, end_col = position
    if line is None or end_line is None or col is None or end_col is None:
        return None
    file = code.co_filename
    return Span(
        file, line, _characters(file, line, col), end_line, _characters(file, end_line, end_col)
    )


def _characters(file: str, line: int, column: int) -> int:
    """A column in characters; Python counts in bytes of UTF-8."""
    text = source_line(file, line)
    if text is None or text.isascii():
        return column
    return len(text.encode()[:column].decode(errors="ignore"))
