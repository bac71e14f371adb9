"""Messages about the names of torch.onnx and what they took (OW890 to OW893)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Diagnostic, Hinted
from onnxwright.errors import ExportError


class NoEffectHere(Hinted):
    """An argument of `torch.onnx.export` is given that this exporter does not have."""

    code = "OW890"
    title = "`{argument}=` {effect}: {reason}"
    label = "given here"
    severity = "warning"
    argument: str
    reason: str
    effect: str = "has no effect"
    hint: str = "leave it out"


class RemovedFromTorchOnnx(Diagnostic):
    """A function or class is called that `torch.onnx` had in older versions."""

    code = "OW891"
    title = "`torch.onnx` has removed `{name}`"
    label = "called here"
    help = "write {instead}"
    error = ExportError
    name: str
    instead: str


class SymbolicNotCalled(Hinted):
    """A symbolic function is registered for an operator that the captured program does not have."""

    code = "OW892"
    title = "the symbolic function of `{name}` was not called: the program has no such operator"
    label = "exported here"
    severity = "warning"
    name: str


class SymbolicNotPossible(Hinted):
    """A symbolic function asks for something that only graphs of TorchScript have."""

    code = "OW893"
    title = "{what} is not possible in a symbolic function here"
    label = "used here"
    error = ExportError
    what: str
