"""Messages of the graph builder: names, values of other graphs, what a finished graph forbids."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptError, ScriptNameError, ScriptTypeError, ScriptValueError


class UnknownValueName(Diagnostic):
    """A node is asked to read a name that no value of the graph has."""

    code = "OW541"
    title = "no value of this graph is called `{name}`"
    label = "read here"
    help = "did you mean `{suggestion}`?"
    error = ScriptNameError
    name: str
    suggestion: str | None = None


class ValueOfAnotherGraph(Diagnostic):
    """A value is used in a builder that did not make it."""

    code = "OW542"
    title = "`{name}` belongs to another builder"
    label = "used here"
    help = (
        "a value lives in the builder that made it; give the graph an input for it, or call the "
        "other graph as a function"
    )
    error = ScriptValueError
    name: str


class ValueOutOfScope(Diagnostic):
    """A value made inside a branch or a loop body is used outside of it."""

    code = "OW543"
    title = "`{name}` was made inside {graph}, which is finished"
    label = "used outside of it here"
    help = "return the value from the body: the operator gives it as an output"
    error = ScriptValueError
    name: str
    graph: str


class NameTaken(Diagnostic):
    """Two things of one graph are given the same name."""

    code = "OW544"
    title = "{what} named `{name}` already exists"
    label = "the name is given again here"
    help = "give each its own name, or none: the builder finds free ones"
    error = ScriptNameError
    what: str
    name: str


class NothingToBuild(Diagnostic):
    """A builder is asked for a model or function before it has an output."""

    code = "OW545"
    title = "the graph has no output"
    label = "asked for here"
    help = "name what it computes with `g.output(value)`"
    error = ScriptError


class WrongOutputNames(Diagnostic):
    """A call is given more or fewer output names than it has outputs."""

    code = "OW546"
    title = "`{operation}` gives {got}, but {names} named"
    label = "called here"
    help = "give one name for each output; the operator is {signature}"
    error = ScriptValueError
    operation: str
    got: str
    names: str
    signature: str


class BuilderFinished(Diagnostic):
    """Something is added to a graph after its model was made."""

    code = "OW547"
    title = "this builder has already produced its model"
    label = "nothing can be added here"
    help = "make the model last, or start another `GraphBuilder`"
    error = ScriptError


class BadTypeArgument(Diagnostic):
    """What is given as the type of an input or output is not a type."""

    code = "OW548"
    title = "{value} is not a valid type for `{name}`"
    label = "given here"
    help = 'give an annotation such as `FLOAT["N", 3]`, or an element type with `shape=`'
    error = ScriptTypeError
    value: str
    name: str


class BadName(Diagnostic):
    """A name is not a string, or is empty, which denotes an absent value."""

    code = "OW549"
    title = "{value} is not a valid name"
    label = "given here"
    help = "give a text that is not empty"
    error = ScriptNameError
    value: str


class AttributeOfModel(Diagnostic):
    """A graph with attribute parameters is made a model; only functions have them."""

    code = "OW550"
    title = "a model has no attribute parameters, and the graph has `{name}`"
    label = "made a model here"
    help = (
        "make it a function (`to_function_proto`, `to_ir_function`) and call that, or use a number"
    )
    error = ScriptError
    name: str


class StrangeModule(Diagnostic):
    """A module or parameter is used while a model is built that it is not an attribute of."""

    code = "OW551"
    title = "{what} is not a part of `{root}`, so it has no name"
    label = "used here"
    help = "set it as an attribute in `__init__`; a list of modules is an `nn.ModuleList`"
    error = ScriptValueError
    what: str
    root: str


class StateMismatch(Advised):
    """Numbers that are given to parameters do not fit: their names, shapes or element types."""

    code = "OW552"
    title = "{what}"
    label = "given here"
    error = ScriptValueError
    what: str


class FunctionsInGraph(Diagnostic):
    """A graph of onnx_ir is built by code that calls a function, which only a model can hold."""

    code = "OW553"
    title = "a graph cannot hold the function `{name}`; only a model can"
    label = "built here"
    help = "put its nodes in the graph instead: `op.builder.call(f, x, inline=True)`"
    error = ScriptValueError
    name: str
