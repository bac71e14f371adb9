"""Messages about numpy's functions and methods on tensors, and writing into tensors (OW865 on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import OnnxwrightError, ScriptTypeError, ScriptValueError, StaticTypeError


@dataclass(frozen=True, kw_only=True)
class NoNumpyFunction(Diagnostic):
    """A function of numpy is called with tensors, and has no meaning in ONNX here."""

    code: ClassVar[str] = "OW865"
    title: ClassVar[str] = "`{name}` cannot be called with tensors"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = (
        "{near}use an operator (`op....`), or compute it outside; "
        "the guide lists the functions of numpy that tensors have"
    )
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    name: str
    near: str


@dataclass(frozen=True, kw_only=True)
class NoSuchAxis(Diagnostic):
    """An axis is named that the tensor does not have."""

    code: ClassVar[str] = "OW866"
    title: ClassVar[str] = "`{name}`: axis {axis} of a tensor of rank {rank}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "axes are counted from 0, or from -1 at the end"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    axis: int
    rank: int


@dataclass(frozen=True, kw_only=True)
class NumpyArguments(Diagnostic):
    """The arguments of a function of numpy do not fit, or ask for what ONNX does not have."""

    code: ClassVar[str] = "OW867"
    title: ClassVar[str] = "`{name}` of a tensor: {reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    reason: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class WrittenElsewhere(Diagnostic):
    """A name is read whose memory was written into through another name."""

    code: ClassVar[str] = "OW868"
    title: ClassVar[str] = "{name} shares memory with {written}, which was written into"
    label: ClassVar[str] = "read here"
    help: ClassVar[str] = (
        "in numpy both would change; values of ONNX do not: take a copy before it is written "
        "(`y = x.copy()`), or read {written}"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    written: str


@dataclass(frozen=True, kw_only=True)
class WrittenShape(Diagnostic):
    """A value is written into a part of a tensor that it does not fit."""

    code: ClassVar[str] = "OW869"
    title: ClassVar[str] = "a value of shape {value} does not fit a part of shape {part}"
    label: ClassVar[str] = "written here"
    help: ClassVar[str] = "the value is broadcast: its sizes, from the last, are those or one"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    value: str
    part: str
