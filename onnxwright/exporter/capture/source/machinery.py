"""Which frames are of the model's Python, and which of torch's machinery and of this package."""

from __future__ import annotations

import sys
from types import FrameType

from onnxwright.diagnostics.file_owners import Owner, owner_of, path_in_torch
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.places import line_of

# Files of torch whose Python traces, dispatches or computes with sizes; it is not the model's.
_OF_TORCH = (
    "_", "export/", "fx/", "utils/", "overrides.py", "__init__.py", "library.py",
    # `layers[n]` is decided where the model asks for the layer, not in `ModuleList.__getitem__`.
    "nn/modules/container.py",
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
        return module.partition(".")[0] in _MAKING or module.startswith("namedtuple_")
    return is_machinery(frame.f_code.co_filename)


def model_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the model's Python.

    Returns:
        It, or the first one around it that is not of torch's machinery or of this package.
    """
    while frame is not None and is_frame_of_machinery(frame):
        frame = frame.f_back
    return frame


def model_line() -> tuple[str, int] | None:
    """The file and line of the model's Python that runs now; None where none does."""
    frame = model_frame(sys._getframe(1))
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def model_span() -> Span | None:
    """The same, as the place of a message."""
    place = model_line()
    return None if place is None else line_of(*place)
