"""What IPython prints of an error of ours: the message, and the user's calls that led to it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from onnxwright.diagnostics.caller import is_internal
from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.diagnostics.notebook import shown_file


def traceback_lines(error: BaseException) -> list[str]:
    """What IPython prints of an error: its message, and the lines of the user that led to it.

    Args:
        error: one of ours, as it was raised.

    Returns:
        Lines; frames of onnxwright and of the libraries below it are left out.
    """
    message = str(error)
    called = list(_user_frames(error))
    if len(called) > 1:  # the last one is where the message points
        message += "\n\ncalled from:\n" + "\n".join(called[:-1])
    kind = type(error)
    return [f"{kind.__module__}.{kind.__qualname__}", *message.split("\n")]


def _user_frames(error: BaseException) -> Iterator[str]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if is_internal(file, frame.f_globals) or _is_library(file):
            continue
        text = traceback.FrameSummary(file, line, frame.f_code.co_name).line or ""
        name = frame.f_code.co_name
        inside = "" if name == "<module>" else f" in {name}"
        yield f"  {shown_file(file)}:{line}{inside}: {text.strip()}"


def _is_library(file: str) -> bool:
    return file.startswith("<frozen") or owner_of(file) in _LIBRARIES


_LIBRARIES = (Owner.TORCH, Owner.INSTALLED, Owner.PYTHON)
