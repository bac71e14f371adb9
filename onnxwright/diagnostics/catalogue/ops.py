"""Messages about operators while a graph is built: inputs and attributes that do not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import (
    OnnxwrightError,
    ScriptTypeError,
    ScriptValueError,
    StaticTypeError,
)


@dataclass(frozen=True, kw_only=True)
class InputsDoNotFit(Diagnostic):
    """The inputs of an operator contradict each other: no runtime can compute it."""

    code: ClassVar[str] = "OW531"
    title: ClassVar[str] = "invalid inputs for `{operation}`: {reason}"
    label: ClassVar[str] = "called with ({types})"
    help: ClassVar[str] = "the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    operation: str
    reason: str
    types: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class BadAttributeValue(Diagnostic):
    """A Python value cannot become an attribute of an operator."""

    code: ClassVar[str] = "OW532"
    title: ClassVar[str] = "attribute `{name}` of `{operation}` cannot hold this value"
    label: ClassVar[str] = "{reason}"
    help: ClassVar[str] = "attributes are numbers, strings, lists of them, tensors, types or graphs"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    operation: str
    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class NoTruthWhileBuilding(Diagnostic):
    """Python asks a graph value for its truth while the graph is being built."""

    code: ClassVar[str] = "OW533"
    title: ClassVar[str] = "`{name}` has no value yet, so it cannot be true or false"
    label: ClassVar[str] = "its truth value is needed here"
    help: ClassVar[str] = "use `op.If` or `op.Where`, or write the function with `@script`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str


@dataclass(frozen=True, kw_only=True)
class ValueNeededNow(Diagnostic):
    """A tensor known only at run time is used where a Python value is needed."""

    code: ClassVar[str] = "OW534"
    title: ClassVar[str] = "{what} must be known when compiling"
    label: ClassVar[str] = "this is a tensor, known only when the model runs"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    what: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class WrongOutputCount(Diagnostic):
    """A result is unpacked into more or fewer names than it has parts."""

    code: ClassVar[str] = "OW535"
    title: ClassVar[str] = "{what} gives {got}, unpacked into {wanted}"
    label: ClassVar[str] = "{wanted} here"
    help: ClassVar[str] = (
        "give as many names as there are values; more outputs of an operator are there where its "
        "call itself is unpacked, or with `_outputs=`"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    what: str
    got: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class OpsetsDisagree(Diagnostic):
    """Two calls use versions of an operator set whose schemas differ and cannot be converted."""

    code: ClassVar[str] = "OW536"
    title: ClassVar[str] = (
        "`{operation}` of {domain} {version} cannot be used with version {target}"
    )
    label: ClassVar[str] = "called from version {version} here"
    help: ClassVar[str] = (
        "the operator changed between the two: call both from one opset version, "
        "or pass `opset_version=`; {reason}"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    operation: str
    domain: str
    version: int
    target: int
    reason: str
