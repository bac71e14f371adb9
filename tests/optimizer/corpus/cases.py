"""A model with inputs to run it on, and as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx


@dataclass
class Case:
    """A model with inputs to run it on.

    Fields:
        name: the network and how it was exported.
        model: the model.
        feeds: inputs, size by size.
    """

    name: str
    model: onnx.ModelProto
    feeds: list[dict[str, Any]]

    def save(self, folder: Path) -> None:
        """Write the model, and its inputs beside it."""
        onnx.save(self.model, folder / f"{self.name}.onnx")
        arrays = {f"{n}/{name}": a for n, f in enumerate(self.feeds) for name, a in f.items()}
        np.savez(folder / f"{self.name}.npz", **arrays)


def load(path: Path) -> Case:
    """A model that was written by `Case.save`."""
    feeds: dict[str, dict[str, Any]] = {}
    with np.load(path.with_suffix(".npz")) as arrays:
        for key in arrays.files:
            size, name = key.split("/", 1)
            feeds.setdefault(size, {})[name] = arrays[key]
    return Case(path.stem, onnx.load(path), list(feeds.values()))
