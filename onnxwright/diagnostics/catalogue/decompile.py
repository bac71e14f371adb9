"""Messages about writing a model as Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import OnnxwrightError, ScriptValueError


@dataclass(frozen=True, kw_only=True)
class NoWeightsFile(Diagnostic):
    """`weights=` names a place that is not known, or a file of arrays without its path."""

    code: ClassVar[str] = "OW742"
    title: ClassVar[str] = "`weights={given}` does not say where the arrays go"
    label: ClassVar[str] = "asked for here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    given: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class WeightsTooLargeForText(Diagnostic):
    """The weights of a model are too large to be written into Python text."""

    code: ClassVar[str] = "OW883"
    title: ClassVar[str] = "the weights take {size}, which is too much for Python text"
    label: ClassVar[str] = "asked for here"
    help: ClassVar[str] = (
        "use `weights='external'`, which leaves them in the model's data file, or "
        "`weights='npz'` with `weights_file=`"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    size: str
