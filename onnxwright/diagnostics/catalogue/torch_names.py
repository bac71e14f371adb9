"""Messages about the names of torch.onnx and what they took (OW890 to OW893)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ExportError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class NoEffectHere(Diagnostic):
    """An argument of `torch.onnx.export` is given that this exporter does not have."""

    code: ClassVar[str] = "OW890"
    title: ClassVar[str] = "`{argument}=` {effect}: {reason}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{hint}"
    severity: ClassVar[str] = "warning"
    argument: str
    reason: str
    effect: str = "has no effect"
    hint: str = "leave it out"


@dataclass(frozen=True, kw_only=True)
class RemovedFromTorchOnnx(Diagnostic):
    """A function is called that `torch.onnx` had in older versions; it does what it did there."""

    code: ClassVar[str] = "OW891"
    title: ClassVar[str] = "`torch.onnx` has removed `{name}`"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "write {instead}"
    severity: ClassVar[str] = "warning"
    name: str
    instead: str


@dataclass(frozen=True, kw_only=True)
class SymbolicNotCalled(Diagnostic):
    """A symbolic function is registered for an operator that the captured program does not have."""

    code: ClassVar[str] = "OW892"
    title: ClassVar[str] = (
        "the symbolic function of `{name}` was not called: the program has no such operator"
    )
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = "{hint}"
    severity: ClassVar[str] = "warning"
    name: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class SymbolicNotPossible(Diagnostic):
    """A symbolic function asks for something that only graphs of TorchScript have."""

    code: ClassVar[str] = "OW893"
    title: ClassVar[str] = "{what} is not possible in a symbolic function here"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportError
    what: str
    hint: str


__all__ = ["NoEffectHere", "RemovedFromTorchOnnx", "SymbolicNotCalled", "SymbolicNotPossible"]
