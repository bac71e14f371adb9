"""The lines of Python that nodes of a captured program remember: all of the user's, none of ours.

PyTorch keeps only frames of functions called `forward`; a helper, or a plain function that is
exported, would be nowhere.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from torch.fx.proxy import TracerBase

from onnxwright.diagnostics.file_owners import Owner, owner_of, path_in_torch
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.places import CAPTURE

_LAYERS = "nn/modules/"


def user_frames(changes: Changes, model: Any) -> None:
    """Nodes that are captured remember every line of the user's that led to them."""

    def kept(tracer: Any, summary: Sequence[traceback.FrameSummary]) -> traceback.StackSummary:
        return traceback.StackSummary.from_list(own_frames(summary))

    changes.attribute(TracerBase, "_filter_traceback_frames", kept)


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
    return [frame for frame in inner if _is_of_the_model(frame)]


def _is_of_the_model(frame: traceback.FrameSummary) -> bool:
    file = frame.filename
    owner = owner_of(file)
    if owner is Owner.TORCH:
        return frame.name == "forward" and (path_in_torch(file) or "").startswith(_LAYERS)
    if owner is Owner.GENERATED:
        return not file.startswith(("<frozen", "<string>"))
    return owner in (Owner.USER, Owner.INSTALLED)
