"""Messages of the exporter about objects of Python that a program changes in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ExportError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class ChosenChanged(Diagnostic):
    """The value of a tensor chooses one of several objects, and one of them is changed later."""

    code: ClassVar[str] = "OW886"
    title: ClassVar[str] = (
        "this line chooses one of several objects of type `{kind}` by a value, and one of them is "
        "changed in place afterwards"
    )
    label: ClassVar[str] = "chosen by a value"
    help: ClassVar[str] = (
        "change it on each side of the decision: `if test: a.append(x)` and `else: b.append(x)`, "
        "or choose a copy: `c = list(a) if test else list(b)`"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    kind: str


@dataclass(frozen=True, kw_only=True)
class ChangedOnOneSide(Diagnostic):
    """A branch or a loop changes an object in place whose state cannot be one of the model."""

    code: ClassVar[str] = "OW887"
    title: ClassVar[str] = (
        "this line is decided by a value, and an object of type `{kind}` is changed in place there"
    )
    label: ClassVar[str] = "decided by a value"
    help: ClassVar[str] = (
        "keep what changes in a tensor, a number, a list or a dict; of an iterator, count the "
        "place and read the item at it"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    kind: str
