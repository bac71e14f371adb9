"""Messages about numpy's functions and methods on tensors, and writing into tensors (OW865 on)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptTypeError, ScriptValueError, StaticTypeError


class NoNumpyFunction(Diagnostic):
    """A function of numpy is called with tensors, and has no meaning in ONNX here."""

    code = "OW865"
    title = "`{name}` cannot be called with tensors"
    label = "called here"
    help = (
        "{near}use an operator (`op....`), or compute it outside; "
        "the guide lists the functions of numpy that tensors have"
    )
    error = StaticTypeError
    name: str
    near: str


class NoSuchAxis(Diagnostic):
    """An axis is named that the tensor does not have."""

    code = "OW866"
    title = "`{name}`: axis {axis} of a tensor of rank {rank}"
    label = "called here"
    help = "axes are counted from 0, or from -1 at the end"
    error = ScriptValueError
    name: str
    axis: int
    rank: int


class NumpyArguments(Advised):
    """The arguments of a function of numpy do not fit, or ask for what ONNX does not have."""

    code = "OW867"
    title = "`{name}` of a tensor: {reason}"
    label = "called here"
    error = ScriptTypeError
    name: str
    reason: str


class WrittenElsewhere(Diagnostic):
    """A name is read whose memory was written into through another name."""

    code = "OW868"
    title = "{name} shares memory with {written}, which was written into"
    label = "read here"
    help = (
        "in numpy both would change; values of ONNX do not: take a copy before it is written "
        "(`y = x.copy()`), or read {written}"
    )
    error = ScriptValueError
    name: str
    written: str


class WrittenShape(Diagnostic):
    """A value is written into a part of a tensor that it does not fit."""

    code = "OW869"
    title = "a value of shape {value} does not fit a part of shape {part}"
    label = "written here"
    help = "the value is broadcast: its sizes, from the last, are those or one"
    error = ScriptValueError
    value: str
    part: str
