"""Messages about changing a finished model: extract, compose, set shapes, rename (OW875 on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ModelToolError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class UnknownValue(Diagnostic):
    """A model has no value, input, output or initializer of a name."""

    code: ClassVar[str] = "OW876"
    title: ClassVar[str] = "the model has no {kind} `{name}`"
    label: ClassVar[str] = "asked for here"
    help: ClassVar[str] = "{found}\ndid you mean `{suggestion}`?"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    kind: str
    name: str
    found: str
    suggestion: str | None = None


@dataclass(frozen=True, kw_only=True)
class DependsOnMoreInputs(Diagnostic):
    """Outputs of a part of a model depend on inputs that the part does not have."""

    code: ClassVar[str] = "OW877"
    title: ClassVar[str] = "{outputs} cannot be computed from {inputs} alone"
    label: ClassVar[str] = "extracted here"
    help: ClassVar[str] = "{missing}\nadd them to `inputs`, or values computed from them"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    outputs: str
    inputs: str
    missing: str


@dataclass(frozen=True, kw_only=True)
class CannotConnect(Diagnostic):
    """An output of one model cannot be the input of another one."""

    code: ClassVar[str] = "OW878"
    title: ClassVar[str] = "output `{output}` cannot be connected to input `{input}`: {reason}"
    label: ClassVar[str] = "composed here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    output: str
    input: str
    reason: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class NameTaken(Diagnostic):
    """The new name of a value is taken by another value of the model."""

    code: ClassVar[str] = "OW879"
    title: ClassVar[str] = "the name `{name}` is taken by {holder}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    name: str
    holder: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class ShapesContradict(Diagnostic):
    """A model cannot run with the new shapes of its inputs."""

    code: ClassVar[str] = "OW880"
    title: ClassVar[str] = "`{operation}` cannot run with these shapes: {reason}"
    label: ClassVar[str] = "shapes set here"
    help: ClassVar[str] = "{place}\n{cause}"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    operation: str
    reason: str
    place: str
    cause: str | None = None


@dataclass(frozen=True, kw_only=True)
class OtherTensor(Diagnostic):
    """A tensor cannot take the place of a weight or constant of another type or shape."""

    code: ClassVar[str] = "OW881"
    title: ClassVar[str] = "`{name}` is {wanted}, and the new value is {given}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "cast or reshape it first, or set the shapes of the model"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    name: str
    wanted: str
    given: str


@dataclass(frozen=True, kw_only=True)
class BadModelArgument(Diagnostic):
    """An argument of a model tool cannot be used."""

    code: ClassVar[str] = "OW882"
    title: ClassVar[str] = "`{argument}` cannot be used: {reason}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    argument: str
    reason: str
    advice: str
