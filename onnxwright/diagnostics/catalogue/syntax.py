"""Messages about Python constructs that scripts cannot hold."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptSyntaxError, ScriptTypeError


class UnsupportedStatement(Advised):
    """A statement that has no meaning in an ONNX graph."""

    code = "OW101"
    title = "`{construct}` cannot be used in a script"
    label = "not supported"
    error = ScriptSyntaxError
    construct: str


class UnsupportedExpression(Advised):
    """An expression that has no meaning in an ONNX graph."""

    code = "OW102"
    title = "{construct} cannot be used in a script"
    label = "not supported"
    error = ScriptSyntaxError
    construct: str


class UnsupportedTarget(Advised):
    """Something that cannot be assigned to, because graph values never change."""

    code = "OW103"
    title = "cannot assign to {construct}"
    label = "values of a graph never change"
    error = ScriptSyntaxError
    construct: str


class NotAFunction(Diagnostic):
    """`@script` is put on something that is not a plain Python function."""

    code = "OW104"
    title = "`@script` needs a Python function, not {what}"
    label = ""
    help = "decorate a `def`; {advice}"
    error = ScriptTypeError
    what: str
    advice: str


class AsyncOrGenerator(Diagnostic):
    """An async function or a generator is decorated."""

    code = "OW105"
    title = "`{name}` is {what}, which cannot become a graph"
    label = "defined here"
    help = "write a plain `def` that returns its results"
    error = ScriptSyntaxError
    name: str
    what: str


class OutsideLoop(Diagnostic):
    """`break` or `continue` outside a loop."""

    code = "OW106"
    title = "`{construct}` outside a loop"
    label = "no loop around it"
    help = "move it into a `for` or `while`"
    error = ScriptSyntaxError
    construct: str
