"""Messages about converting a model to another opset version (OW87x)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ConversionError, ConversionValueError


class NodeNotConvertible(Diagnostic):
    """A node has no equivalent in the opset version that a model is converted to."""

    code = "OW870"
    title = "`{operation}` cannot be converted from opset {version} to {target}: {reason}"
    label = "converted here"
    help = "{place}\n{advice}"
    error = ConversionError
    operation: str
    version: int
    target: int
    reason: str
    place: str
    advice: str


class BadTargetVersion(Diagnostic):
    """The opset version to convert to is not one that can be converted to."""

    code = "OW871"
    title = "cannot convert to opset {version} of {domain}"
    label = "asked for here"
    help = "{versions}"
    error = ConversionValueError
    version: str
    domain: str
    versions: str


class ModelNotConvertible(Advised):
    """A model as a whole cannot be converted to another opset version."""

    code = "OW872"
    title = "the model cannot be converted: {reason}"
    label = "converted here"
    error = ConversionValueError
    reason: str
