"""Variables that have what a function returns: what it still does, it does on another way.

`if test: return held` and then `held["n"] = 1`: the result may be `held`, and is not changed, for a
run that returned it does not come to the change.  So while a function runs nothing changes what it
has returned; after that, changes count as those of any object that a decision chose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import FrameType

from onnxwright.converter.frontend.hir import INTERNAL, RESULT
from onnxwright.converter.normalize.loop_exits import VALUE
from onnxwright.exporter.capture.frontend.structure import python_name
from onnxwright.exporter.capture.model_lines import calling_frame

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
