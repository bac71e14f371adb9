"""How a sweep is run and what became of its units, as data."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import onnx
import onnxruntime
import torch

from onnxwright.sweep.units import MODES, OPSET, Outcome
from onnxwright.version import __version__


@dataclass(frozen=True)
class Settings:
    """How the units of a sweep are run.

    Fields:
        modes: some of "eager", "graph", "dynamic", or "export" alone.
        limit: at most so many samples of each unit; None for all.
        opset_version: the version of the standard opset.
    """

    modes: tuple[str, ...] = MODES
    limit: int | None = None
    opset_version: int = OPSET

    def data(self) -> dict[str, Any]:
        """The settings with the versions of what is compared, for journals and reports."""
        return {
            "modes": list(self.modes),
            "limit": self.limit,
            "opset": self.opset_version,
            "onnxwright": __version__,
            "torch": torch.__version__,
            "onnxruntime": onnxruntime.__version__,
            "onnx": onnx.__version__,
            "python": platform.python_version(),
        }


@dataclass(frozen=True)
class UnitResult:
    """What became of the samples of a unit.

    Fields:
        key: the unit's.
        function, test, dtype: of the unit.
        module: where the function is, `unary`.
        outcomes: one for each sample and mode.
        seconds: how long it took, torch's part included.
    """

    key: str
    function: str
    test: str
    dtype: str
    module: str
    outcomes: tuple[Outcome, ...]
    seconds: float

    def data(self) -> dict[str, Any]:
        """As JSON has it; `read` is the way back."""
        short = [
            [o.mode, o.sample, o.status, o.why, round(o.seconds, 6), list(o.ran)]
            for o in self.outcomes
        ]
        return {**asdict(self), "outcomes": short, "seconds": round(self.seconds, 4)}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> UnitResult:
        """A result from what `data` gave."""
        about = (data["function"], data["test"], data["dtype"])
        outcomes = tuple(
            Outcome(*about, mode, sample, status, why, seconds, tuple(ran))
            for mode, sample, status, why, seconds, ran in data["outcomes"]
        )
        return cls(**{**data, "outcomes": outcomes})
