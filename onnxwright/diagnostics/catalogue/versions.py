"""Messages about converting a model to another opset version (OW87x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ConversionError, ConversionValueError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class NodeNotConvertible(Diagnostic):
    """A node has no equivalent in the opset version that a model is converted to."""

    code: ClassVar[str] = "OW870"
    title: ClassVar[str] = (
        "`{operation}` cannot be converted from opset {version} to {target}: {reason}"
    )
    label: ClassVar[str] = "converted here"
    help: ClassVar[str] = "{place}\n{advice}"
    error: ClassVar[type[OnnxwrightError]] = ConversionError
    operation: str
    version: int
    target: int
    reason: str
    place: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class BadTargetVersion(Diagnostic):
    """The opset version to convert to is not one that can be converted to."""

    code: ClassVar[str] = "OW871"
    title: ClassVar[str] = "cannot convert to opset {version} of {domain}"
    label: ClassVar[str] = "asked for here"
    help: ClassVar[str] = "{known}"
    error: ClassVar[type[OnnxwrightError]] = ConversionValueError
    version: str
    domain: str
    known: str


@dataclass(frozen=True, kw_only=True)
class ModelNotConvertible(Diagnostic):
    """A model as a whole cannot be converted to another opset version."""

    code: ClassVar[str] = "OW872"
    title: ClassVar[str] = "the model cannot be converted: {reason}"
    label: ClassVar[str] = "converted here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ConversionValueError
    reason: str
    advice: str
