"""Messages about writing a model as Python."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptValueError


class NoWeightsFile(Advised):
    """`weights=` names a place that is not known, or a file of arrays without its path."""

    code = "OW742"
    title = "`weights={value}` does not say where the arrays go"
    label = "asked for here"
    error = ScriptValueError
    value: str


class WeightsTooLargeForText(Diagnostic):
    """The weights of a model are too large to be written into Python text."""

    code = "OW883"
    title = "the weights take {size}, which is too much for Python text"
    label = "asked for here"
    help = (
        "use `weights='external'`, which leaves them in the model's data file, or "
        "`weights='npz'` with `weights_file=`"
    )
    error = ScriptValueError
    size: str
