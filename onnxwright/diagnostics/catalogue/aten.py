"""Messages of the ATen library: registering functions, calling them (OW80x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import (
    AtenArgumentError,
    AtenLookupError,
    AtenUnsupportedError,
    OnnxwrightError,
)


@dataclass(frozen=True, kw_only=True)
class AtenDefinedTwice(Diagnostic):
    """Two functions are registered for one ATen operator; each has one place."""

    code: ClassVar[str] = "OW801"
    title: ClassVar[str] = "`{name}` is already defined at {first}; second definition at {second}"
    label: ClassVar[str] = "the second"
    help: ClassVar[str] = (
        "give a private lowering with `custom_translation_table`, or pass `replace=True`"
    )
    error: ClassVar[type[OnnxwrightError]] = AtenArgumentError
    name: str
    first: str
    second: str


@dataclass(frozen=True, kw_only=True)
class AtenUnknown(Diagnostic):
    """No function is registered for an ATen operator."""

    code: ClassVar[str] = "OW802"
    title: ClassVar[str] = "no ATen function is registered for `{name}`"
    label: ClassVar[str] = "asked for here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = AtenLookupError
    name: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class AtenBadCall(Diagnostic):
    """The arguments of an ATen function do not fit its schema."""

    code: ClassVar[str] = "OW803"
    title: ClassVar[str] = "{name}: {reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "the function is `{signature}`"
    error: ClassVar[type[OnnxwrightError]] = AtenArgumentError
    name: str
    reason: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class AtenUnsupported(Diagnostic):
    """An ATen function is called with arguments that ONNX cannot express."""

    code: ClassVar[str] = "OW804"
    title: ClassVar[str] = "{name}: {reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = AtenUnsupportedError
    name: str
    reason: str
    hint: str
