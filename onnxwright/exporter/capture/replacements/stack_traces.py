"""The lines of Python that nodes of a captured program remember: all of the user's, none of ours.

PyTorch keeps only frames of functions called `forward`; a helper, or a plain function that is
exported, would be nowhere.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Sequence
from typing import Any

from torch.fx import proxy

from onnxwright.diagnostics.file_owners import Owner, owner_of, path_in_torch
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.model_lines import calling_frame
from onnxwright.exporter.places import CAPTURE

_LAYERS = "nn/modules/"


class _UserTraceback:
    """Takes the place of `CapturedTraceback`, which reads the source line of every frame."""

    def __init__(self, frames: list[traceback.FrameSummary]) -> None:
        self._frames = frames

    @classmethod
    def extract(cls) -> _UserTraceback:
        """Where the code that is captured is now."""
        frame, frames = calling_frame(), []
        while frame is not None and frame.f_code.co_filename != CAPTURE:
            code = frame.f_code
            if _is_of_the_model(code.co_filename, code.co_name):
                frames.append(
                    traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name)
                )
            frame = frame.f_back
        return cls(frames[::-1])

    def summary(self) -> traceback.StackSummary:
        """The frames, the outermost first."""
        return traceback.StackSummary.from_list(self._frames)


def user_frames(changes: Changes, model: Any) -> None:
    """Nodes that are captured remember every line of the user's that led to them."""

    def kept(tracer: Any, summary: Sequence[traceback.FrameSummary]) -> traceback.StackSummary:
        return traceback.StackSummary.from_list(own_frames(summary))

    changes.attribute(proxy, "CapturedTraceback", _UserTraceback)
    changes.attribute(proxy.TracerBase, "_filter_traceback_frames", kept)


def own_frames(frames: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """The frames that say where in the model something is.

    Returns:
        Those after the call of `torch.export`: the user's, and the `forward` of torch's layers.

    Example:
        >>> import torch, traceback
        >>> stack = [
        ...     ("main.py", "main"),
        ...     (CAPTURE, "captured"),
        ...     ("model.py", "forward"),
        ...     (torch.nn.functional.__file__, "relu"),
        ... ]
        >>> found = own_frames([traceback.FrameSummary(f, 1, n, line="") for f, n in stack])
        >>> [frame.filename for frame in found]
        ['model.py']
    """
    calls = [n for n, frame in enumerate(frames) if frame.filename == CAPTURE]
    inner = frames[calls[-1] + 1 :] if calls else frames
    return [frame for frame in inner if _is_of_the_model(frame.filename, frame.name)]


@functools.lru_cache(maxsize=1 << 14)
def _is_of_the_model(file: str, name: str) -> bool:
    owner = owner_of(file)
    if owner is Owner.TORCH:
        return name == "forward" and (path_in_torch(file) or "").startswith(_LAYERS)
    if owner is Owner.GENERATED:
        return not file.startswith(("<frozen", "<string>"))
    return owner in (Owner.USER, Owner.INSTALLED)
