"""Messages about changing a finished model: extract, compose, set shapes, rename (OW875 on)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ModelToolError


class UnknownValue(Diagnostic):
    """A model has no value, input, output or initializer of a name."""

    code = "OW876"
    title = "the model has no {kind} `{name}`"
    label = "asked for here"
    help = "{names}\ndid you mean `{suggestion}`?"
    error = ModelToolError
    kind: str
    name: str
    names: str
    suggestion: str | None = None


class DependsOnMoreInputs(Diagnostic):
    """Outputs of a part of a model depend on inputs that the part does not have."""

    code = "OW877"
    title = "{outputs} cannot be computed from {inputs} alone"
    label = "extracted here"
    help = "{missing}\nadd them to `inputs`, or values computed from them"
    error = ModelToolError
    outputs: str
    inputs: str
    missing: str


class CannotConnect(Advised):
    """An output of one model cannot be the input of another one."""

    code = "OW878"
    title = "output `{output}` cannot be connected to input `{input}`: {reason}"
    label = "composed here"
    error = ModelToolError
    output: str
    input: str
    reason: str


class NameTaken(Advised):
    """The new name of a value is taken by another value of the model."""

    code = "OW879"
    title = "the name `{name}` is taken by {holder}"
    label = "given here"
    error = ModelToolError
    name: str
    holder: str


class ShapesContradict(Diagnostic):
    """A model cannot run with the new shapes of its inputs."""

    code = "OW880"
    title = "`{operation}` cannot run with these shapes: {reason}"
    label = "shapes set here"
    help = "{place}\n{cause}"
    error = ModelToolError
    operation: str
    reason: str
    place: str
    cause: str | None = None


class OtherTensor(Diagnostic):
    """A tensor cannot take the place of a weight or constant of another type or shape."""

    code = "OW881"
    title = "`{name}` is {type}, and the new value is {new_type}"
    label = "given here"
    help = "cast or reshape it first, or set the shapes of the model"
    error = ModelToolError
    name: str
    type: str
    new_type: str


class BadModelArgument(Advised):
    """An argument of a model tool cannot be used."""

    code = "OW882"
    title = "`{argument}` cannot be used: {reason}"
    label = "given here"
    error = ModelToolError
    argument: str
    reason: str
