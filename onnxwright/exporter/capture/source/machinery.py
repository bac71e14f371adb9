"""Which frames are of the model's Python, and which of torch's machinery and of this package."""

from __future__ import annotations

from types import FrameType

from onnxwright.exporter.places import HOME, TORCH

# Files of torch whose Python traces, dispatches or computes with sizes; it is not the model's.
_OF_TORCH = (
    "_", "export/", "fx/", "utils/", "overrides.py", "__init__.py", "library.py",
    # `layers[n]` is decided where the model asks for the layer, not in `ModuleList.__getitem__`.
    "nn/modules/container.py",
)  # fmt: skip
MACHINERY = (
    *(f"{TORCH}/{name}" for name in _OF_TORCH), HOME, "<string>", "<frozen", "<eval_with_key>"
)  # fmt: skip


def model_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the model's Python.

    Args:
        frame: a frame.

    Returns:
        It, or the first one around it that is not of torch's machinery or of this package.
    """
    while frame is not None and frame.f_code.co_filename.startswith(MACHINERY):
        frame = frame.f_back
    return frame
