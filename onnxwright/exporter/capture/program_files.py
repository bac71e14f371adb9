"""Programs that torch exported before, from their files."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.export import ExportedProgram

from onnxwright.exporter import checks
from onnxwright.exporter.capture.outcomes import reason_of
from onnxwright.exporter.capture.torch_output import capture_torch_output
from onnxwright.exporter.torch_lock import TORCH_LOCK


def load_program(path: str | Path) -> ExportedProgram:
    """An exported program from a `.pt2` file.

    Raises:
        ExportValueError: the file is missing or is none.
    """
    reason = "the file does not exist"
    if Path(path).exists():
        try:
            with TORCH_LOCK, capture_torch_output():
                return torch.export.load(str(path))
        except Exception as error:  # noqa: BLE001 - torch raises many kinds
            reason = reason_of(error).splitlines()[0]
    checks.raise_bad_argument(
        "model",
        f"`{path}` is not an exported program: {reason}",
        "give a module, or the path of a file written by torch.export.save",
    )
