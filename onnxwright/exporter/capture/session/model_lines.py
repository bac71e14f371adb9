"""The line of the user that runs now, for messages and for what is decided line by line.

Frames of torch's machinery, of Python's own library and of this package are not the user's.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Sequence
from types import FrameType

from onnxwright.converter.frontend.hir import INTERNAL, RESULT
from onnxwright.converter.normalize.loop_exits import VALUE
from onnxwright.diagnostics.file_owners import Owner, owner_of, path_in_torch
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.places import CAPTURE, line_of

# Files of torch whose Python traces, dispatches or computes with sizes; it is not the model's.
_OF_TORCH = (
    "_", "export/", "fx/", "utils/", "overrides.py", "__init__.py", "library.py",
    # `layers[n]` is decided where the model asks for the layer, not in `ModuleList.__getitem__`.
    "nn/modules/container.py", "nn/modules/module.py",
)  # fmt: skip
_MAKING = ("torch", "sympy", "onnxwright")
_GENERATED = ("<string>", "<frozen", "<eval_with_key>")


def is_machinery(file: str) -> bool:
    """Whether a file is of torch's machinery or of this package, not of the model's Python."""
    if file.startswith("<"):
        return file.startswith(_GENERATED)
    inner = path_in_torch(file)
    if inner is not None:
        return inner.startswith(_OF_TORCH)
    return owner_of(file) is Owner.ONNXWRIGHT


def is_frame_of_machinery(frame: FrameType) -> bool:
    """Whether a frame is of torch's machinery or of this package.

    Code that torch and sympy make of a text is called `<string>`, as that of `python -c` and of
    `exec` is: the module that it belongs to tells them apart.
    """
    if frame.f_code.co_filename == "<string>":
        module = str(frame.f_globals.get("__name__", ""))
        if frame.f_code.co_name.startswith("__"):
            return True  # a method that `dataclasses` made
        return module.partition(".")[0] in _MAKING or module.startswith("namedtuple_")
    return is_machinery(frame.f_code.co_filename)


def calling_frame(depth: int = 1) -> FrameType | None:
    """The frame around the function that asks.

    Args:
        depth: how many calls further out: 1 is the caller of the function that asks.
    """
    return sys._getframe(depth + 1)


def calling_line() -> tuple[str, int]:
    """The file and line that called the function that asks."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def model_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the model's Python.

    Returns:
        It, or the first one around it that is not of torch's machinery, of this package or of
        Python's own library.
    """
    while frame is not None and (
        is_frame_of_machinery(frame) or owner_of(frame.f_code.co_filename) is Owner.PYTHON
    ):
        frame = frame.f_back
    return frame


def model_line() -> tuple[str, int]:
    """The file and line of the model's Python that runs now; `("", 0)` where none does."""
    frame = model_frame(calling_frame())
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def model_span() -> Span | None:
    """The same, as the place of a message; None where none runs."""
    place = model_line()
    return line_of(*place) if place[0] else None


_FORMATTING = ("__repr__", "__str__", "__format__")


def formatting_line() -> tuple[str, int]:
    """The line that asks for the text that is made now: not one of a method that makes texts."""
    asking = frame = model_frame(calling_frame())
    while frame is not None and frame.f_code.co_filename != CAPTURE:
        if frame.f_code.co_name in _FORMATTING:
            asking = model_frame(frame.f_back)
        frame = frame.f_back
    return ("", 0) if asking is None else (asking.f_code.co_filename, asking.f_lineno)


def is_formatted_by_model() -> bool:
    """Whether the function that asks is called by the model, maybe through Python's library."""
    frame = calling_frame(2)
    while frame is not None and (
        frame.f_code.co_filename == "<string>" or owner_of(frame.f_code.co_filename) is Owner.PYTHON
    ):
        frame = frame.f_back
    return frame is not None and frame is model_frame(frame)


# Methods that keep what they are given, and that are called for that.
_KEEPING = {"append", "appendleft", "add", "extend", "insert", "update", "setdefault"}


def is_text_used(file: str, line: int) -> bool:
    """Whether the statement of a line does something with a text.

    Args:
        file, line: the line.

    Returns:
        Not for errors, and calls whose result nobody reads, such as `print` and `warnings.warn`.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return True
    statement: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            if statement is None or node.lineno >= statement.lineno:
                statement = node
    if isinstance(statement, (ast.Raise, ast.Assert)):
        return False
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return True
    called = statement.value.func
    if isinstance(called, ast.Attribute) and called.attr in _KEEPING:
        return True
    inside = (n for n in ast.walk(statement) if isinstance(n, ast.Lambda))
    return any(n.lineno <= line <= (n.end_lineno or 0) for n in inside)


# -- variables that have what a function returns: what it still does, it does on another way -------
# `if test: return held` and then `held["n"] = 1`: the result may be `held`, and is not changed,
# for a run that returned it does not come to the change.  So while a function runs nothing changes
# what it has returned; after that, changes count as those of any object that a decision chose.


def python_name(name: str) -> str:
    """The Python name of an internal one of the passes."""
    return "_ow_" + name[len(INTERNAL) :] if name.startswith(INTERNAL) else name


_NAMES = python_name(RESULT), python_name(INTERNAL + VALUE)


def is_returned(name: str) -> bool:
    """Whether a variable, or a part of it, is what a function returns."""
    return name.startswith(_NAMES)


def returning_frame(path: str) -> FrameType | None:
    """The rewritten function around a decision, if a variable is what that returns.

    Args:
        path: the variable, or a part of it, such as "name[0]".
    """
    if not is_returned(path):
        return None
    name = re.split(r"\W", path, maxsplit=1)[0]
    frame = calling_frame()
    while frame is not None and name not in frame.f_code.co_cellvars:
        frame = frame.f_back
    return frame


def returned_places(names: Sequence[str]) -> dict[int, FrameType | None]:
    """The places of what the function around a loop returns, with its frame."""
    return {n: returning_frame(name) for n, name in enumerate(names) if is_returned(name)}


def is_running(function: FrameType | None) -> bool:
    """Whether a function has not ended yet."""
    frame = None if function is None else calling_frame()
    while frame is not None and frame is not function:
        frame = frame.f_back
    return frame is not None
