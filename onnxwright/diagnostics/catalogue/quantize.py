"""Messages about small weights and half precision (OW920 on)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptValueError


class BadQuantizeOption(Advised):
    """An option of `quantize_weights` or `to_half` has a value that is not valid."""

    code = "OW920"
    title = "`{name}` is {value}"
    label = "given here"
    error = ScriptValueError
    name: str
    value: str


class BadQuantization(Diagnostic):
    """The method that quantizes weights returned something that does not fit the weight."""

    code = "OW921"
    title = "`method` returned {got} for the weight `{name}`"
    label = "quantized here"
    help = "return {expected}"
    error = ScriptValueError
    name: str
    expected: str
    got: str


class PatternMatchesNothing(Advised):
    """A name or pattern of `skip` or `keep` belongs to no node and no weight of the model."""

    code = "OW922"
    severity = "warning"
    title = "`{option}` has {pattern}, which matches no node and no weight"
    label = "given here"
    error = ScriptValueError
    option: str
    pattern: str
