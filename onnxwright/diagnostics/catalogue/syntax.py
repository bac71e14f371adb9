"""Messages about Python constructs that scripts cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import OnnxwrightError, ScriptSyntaxError, ScriptTypeError


@dataclass(frozen=True, kw_only=True)
class UnsupportedStatement(Diagnostic):
    """A statement that has no meaning in an ONNX graph."""

    code: ClassVar[str] = "OW101"
    title: ClassVar[str] = "`{construct}` cannot be used in a script"
    label: ClassVar[str] = "not supported"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptSyntaxError
    construct: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class UnsupportedExpression(Diagnostic):
    """An expression that has no meaning in an ONNX graph."""

    code: ClassVar[str] = "OW102"
    title: ClassVar[str] = "{construct} cannot be used in a script"
    label: ClassVar[str] = "not supported"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptSyntaxError
    construct: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class UnsupportedTarget(Diagnostic):
    """Something that cannot be assigned to, because graph values never change."""

    code: ClassVar[str] = "OW103"
    title: ClassVar[str] = "cannot assign to {construct}"
    label: ClassVar[str] = "values of a graph never change"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptSyntaxError
    construct: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class NotAFunction(Diagnostic):
    """`@script` is put on something that is not a plain Python function."""

    code: ClassVar[str] = "OW104"
    title: ClassVar[str] = "`@script` needs a Python function, not {what}"
    label: ClassVar[str] = ""
    help: ClassVar[str] = "decorate a `def`; {advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    what: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class AsyncOrGenerator(Diagnostic):
    """An async function or a generator is decorated."""

    code: ClassVar[str] = "OW105"
    title: ClassVar[str] = "`{name}` is {what}, which cannot become a graph"
    label: ClassVar[str] = "defined here"
    help: ClassVar[str] = "write a plain `def` that returns its results"
    error: ClassVar[type[OnnxwrightError]] = ScriptSyntaxError
    name: str
    what: str


@dataclass(frozen=True, kw_only=True)
class OutsideLoop(Diagnostic):
    """`break` or `continue` outside a loop."""

    code: ClassVar[str] = "OW106"
    title: ClassVar[str] = "`{construct}` outside a loop"
    label: ClassVar[str] = "no loop around it"
    help: ClassVar[str] = "move it into a `for` or `while`"
    error: ClassVar[type[OnnxwrightError]] = ScriptSyntaxError
    construct: str
