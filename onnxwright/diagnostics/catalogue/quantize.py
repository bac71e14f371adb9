"""Messages about small weights and half precision (OW920 on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import OnnxwrightError, ScriptValueError


@dataclass(frozen=True, kw_only=True)
class BadQuantizeOption(Diagnostic):
    """An option of `quantize_weights` or `to_half` has a value that is not valid."""

    code: ClassVar[str] = "OW920"
    title: ClassVar[str] = "`{name}` is {given}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{wanted}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    given: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class BadQuantization(Diagnostic):
    """The method that quantizes weights returned something that does not fit the weight."""

    code: ClassVar[str] = "OW921"
    title: ClassVar[str] = "`method` returned {got} for the weight `{name}`"
    label: ClassVar[str] = "quantized here"
    help: ClassVar[str] = "return {wanted}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    wanted: str
    got: str


@dataclass(frozen=True, kw_only=True)
class PatternMatchesNothing(Diagnostic):
    """A name or pattern of `skip` or `keep` belongs to no node and no weight of the model."""

    code: ClassVar[str] = "OW922"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "`{option}` has {pattern}, which matches no node and no weight"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{found}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    option: str
    pattern: str
    found: str
