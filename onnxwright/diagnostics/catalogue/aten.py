"""Messages of the ATen library: registering functions, calling them (OW80x)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Diagnostic, Hinted
from onnxwright.errors import AtenArgumentError, AtenLookupError, AtenUnsupportedError


class AtenDefinedTwice(Diagnostic):
    """Two functions are registered for one ATen operator; each has one place."""

    code = "OW801"
    title = "`{name}` is already defined at {first}; second definition at {second}"
    label = "the second"
    help = "give a private lowering with `custom_translation_table`, or pass `replace=True`"
    error = AtenArgumentError
    name: str
    first: str
    second: str


class AtenUnknown(Hinted):
    """No function is registered for an ATen operator."""

    code = "OW802"
    title = "no ATen function is registered for `{name}`"
    label = "asked for here"
    error = AtenLookupError
    name: str


class AtenBadCall(Diagnostic):
    """The arguments of an ATen function do not fit its schema."""

    code = "OW803"
    title = "{name}: {reason}"
    label = "called here"
    help = "the function is `{signature}`"
    error = AtenArgumentError
    name: str
    reason: str
    signature: str


class AtenUnsupported(Hinted):
    """An ATen function is called with arguments that ONNX cannot express."""

    code = "OW804"
    title = "{name}: {reason}"
    label = "called here"
    error = AtenUnsupportedError
    name: str
    reason: str
