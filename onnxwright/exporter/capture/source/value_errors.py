"""Errors of captures that say that Python read a value: which they are, and where it was read."""

from __future__ import annotations

import linecache
import re
import traceback
from types import FrameType

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.source.machinery import is_frame_of_machinery

_NOT_FOUND = (KeyError, AttributeError)
# A symbol for a number that is not known, in a text.
_SYMBOL = re.compile(r"(zuf|u)[0-9]+")
# Code of its own within the function in which it stands, up to Python 3.11.
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class SwallowedError(RuntimeError):
    """A decision by a value that was refused, and the model went on as if its code had failed.

    Args:
        frame: the function that decides.
    """

    def __init__(self, frame: FrameType) -> None:
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        super().__init__(f"a data-dependent decision at {place} is in a `try` that takes any error")
        self.frame = frame


def reads_value(error: BaseException | None) -> BaseException | None:
    """The error of a chain that says that Python read a value that is not known.

    Args:
        error: what a capture raised.

    Returns:
        The innermost; None if there is none.
    """
    found = None
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if _is_about_values(error):
            found = error
        error = error.__cause__ or error.__context__
    return found


def is_about_fixed_size(error: BaseException | None) -> bool:
    """Whether a capture failed as Python made a number of a size that is to be dynamic.

    Args:
        error: what it raised.
    """
    return error is not None and "specialized it to be a constant" in str(error)


def _is_about_values(error: BaseException) -> bool:
    if isinstance(error, GuardOnDataDependentSymNode):
        return True
    text = str(error)
    if isinstance(error, _NOT_FOUND) and _SYMBOL.search(text):
        return True  # a key or a name made of a number that is not known
    signs = (
        "data-dependent", "GuardOnDataDependentSymNode", "passed to SymFloat.__format__",
        "unhashable type: non-nested SymInt", "unhashable type: SymFloat",
    )  # fmt: skip
    return any(sign in text for sign in signs)


def deciding_frame(error: BaseException) -> FrameType | None:
    """The frame of the model's Python that read a value.

    Args:
        error: from `reads_value`.

    Returns:
        The innermost frame outside of torch's machinery, that of the function for a comprehension
        or a generator expression in it; None if there is none.
    """
    if isinstance(error, SwallowedError):
        return error.frame
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    # A name or key that does not exist was made by who asks for it, not by the module.
    inner = isinstance(error, _NOT_FOUND)
    own = [f for f in frames if not _is_passed(f, inner)]
    if not own:
        return None
    # A generator's frame does not say who asked for its next item.
    found = own.pop()
    for outer in reversed(own):
        if found.f_code.co_name not in _COMPREHENSIONS:
            break
        if found.f_code in outer.f_code.co_consts:
            found = outer
    return found


def _is_passed(frame: FrameType, all_of_torch: bool) -> bool:
    if is_frame_of_machinery(frame):
        return True
    return all_of_torch and owner_of(frame.f_code.co_filename) is Owner.TORCH


def deciding_lines(error: BaseException | None) -> list[tuple[FrameType, int]]:
    """The frames of the model's Python that an error passed, with their lines.

    Args:
        error: from `reads_value`.

    Returns:
        Them, innermost first.
    """
    if error is None:
        return []
    frames = list(traceback.walk_tb(error.__traceback__))[::-1]
    return [(f, line) for f, line in frames if not is_frame_of_machinery(f)]


def has_deciding_frame(error: BaseException, of_assert: bool = True) -> bool:
    """Whether an error of a capture comes from Python that reads a value.

    Args:
        error: what a capture raised.
        of_assert: whether one that an `assert` reads counts.

    Returns:
        Whether; not for an error of a compiler that read the code without running it.
    """
    cause = reads_value(error)
    frame = None if cause is None else deciding_frame(cause)
    if frame is None or of_assert:
        return frame is not None
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals)
    return not line.strip().startswith("assert")
