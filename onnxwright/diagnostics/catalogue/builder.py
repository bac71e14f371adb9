"""Messages of the graph builder: names, values of other graphs, what a finished graph forbids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import (
    OnnxwrightError,
    ScriptError,
    ScriptNameError,
    ScriptTypeError,
    ScriptValueError,
)


@dataclass(frozen=True, kw_only=True)
class UnknownValueName(Diagnostic):
    """A node is asked to read a name that no value of the graph has."""

    code: ClassVar[str] = "OW541"
    title: ClassVar[str] = "no value of this graph is called `{name}`"
    label: ClassVar[str] = "read here"
    help: ClassVar[str] = "did you mean `{suggestion}`?"
    error: ClassVar[type[OnnxwrightError]] = ScriptNameError
    name: str
    suggestion: str | None = None


@dataclass(frozen=True, kw_only=True)
class ValueOfAnotherGraph(Diagnostic):
    """A value is used in a builder that did not make it."""

    code: ClassVar[str] = "OW542"
    title: ClassVar[str] = "`{name}` belongs to another builder"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = (
        "a value lives in the builder that made it; give the graph an input for it, or call the "
        "other graph as a function"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str


@dataclass(frozen=True, kw_only=True)
class ValueOutOfScope(Diagnostic):
    """A value made inside a branch or a loop body is used outside of it."""

    code: ClassVar[str] = "OW543"
    title: ClassVar[str] = "`{name}` was made inside {graph}, which is finished"
    label: ClassVar[str] = "used outside of it here"
    help: ClassVar[str] = "return the value from the body: the operator gives it as an output"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    graph: str


@dataclass(frozen=True, kw_only=True)
class NameTaken(Diagnostic):
    """Two things of one graph are given the same name."""

    code: ClassVar[str] = "OW544"
    title: ClassVar[str] = "{what} named `{name}` already exists"
    label: ClassVar[str] = "the name is given again here"
    help: ClassVar[str] = "give each its own name, or none: the builder finds free ones"
    error: ClassVar[type[OnnxwrightError]] = ScriptNameError
    what: str
    name: str


@dataclass(frozen=True, kw_only=True)
class NothingToBuild(Diagnostic):
    """A builder is asked for a model or function before it has an output."""

    code: ClassVar[str] = "OW545"
    title: ClassVar[str] = "the graph has no output"
    label: ClassVar[str] = "asked for here"
    help: ClassVar[str] = "name what it computes with `g.output(value)`"
    error: ClassVar[type[OnnxwrightError]] = ScriptError


@dataclass(frozen=True, kw_only=True)
class WrongOutputNames(Diagnostic):
    """A call is given more or fewer output names than it has outputs."""

    code: ClassVar[str] = "OW546"
    title: ClassVar[str] = "`{operation}` gives {got}, but {wanted} named"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "give one name for each output; the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    operation: str
    got: str
    wanted: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class BuilderFinished(Diagnostic):
    """Something is added to a graph after its model was made."""

    code: ClassVar[str] = "OW547"
    title: ClassVar[str] = "this builder has already produced its model"
    label: ClassVar[str] = "nothing can be added here"
    help: ClassVar[str] = "make the model last, or start another `GraphBuilder`"
    error: ClassVar[type[OnnxwrightError]] = ScriptError


@dataclass(frozen=True, kw_only=True)
class BadTypeArgument(Diagnostic):
    """What is given as the type of an input or output is not a type."""

    code: ClassVar[str] = "OW548"
    title: ClassVar[str] = "{given} is not a valid type for `{name}`"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = (
        'give an annotation such as `FLOAT["N", 3]`, or an element type with `shape=`'
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    given: str
    name: str


@dataclass(frozen=True, kw_only=True)
class BadName(Diagnostic):
    """A name is not a string, or is empty, which denotes an absent value."""

    code: ClassVar[str] = "OW549"
    title: ClassVar[str] = "{given} is not a valid name"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "give a text that is not empty"
    error: ClassVar[type[OnnxwrightError]] = ScriptNameError
    given: str


@dataclass(frozen=True, kw_only=True)
class AttributeOfModel(Diagnostic):
    """A graph with attribute parameters is made a model; only functions have them."""

    code: ClassVar[str] = "OW550"
    title: ClassVar[str] = "a model has no attribute parameters, and the graph has `{name}`"
    label: ClassVar[str] = "made a model here"
    help: ClassVar[str] = (
        "make it a function (`to_function_proto`, `to_ir_function`) and call that, or use a number"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptError
    name: str


@dataclass(frozen=True, kw_only=True)
class StrangeModule(Diagnostic):
    """A module or parameter is used while a model is built that it is not an attribute of."""

    code: ClassVar[str] = "OW551"
    title: ClassVar[str] = "{what} is not a part of `{root}`, so it has no name"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = (
        "set it as an attribute in `__init__`; a list of modules is an `nn.ModuleList`"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    what: str
    root: str


@dataclass(frozen=True, kw_only=True)
class StateMismatch(Diagnostic):
    """Numbers that are given to parameters do not fit: their names, shapes or element types."""

    code: ClassVar[str] = "OW552"
    title: ClassVar[str] = "{what}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    what: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class FunctionsInGraph(Diagnostic):
    """A graph of onnx_ir is built by code that calls a function, which only a model can hold."""

    code: ClassVar[str] = "OW553"
    title: ClassVar[str] = "a graph cannot hold the function `{name}`; only a model can"
    label: ClassVar[str] = "built here"
    help: ClassVar[str] = "put its nodes in the graph instead: `op.builder.call(f, x, inline=True)`"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
