"""Messages about operators and opsets: names that do not exist, calls that do not fit (OW50x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import (
    OnnxwrightError,
    ScriptAttributeError,
    ScriptTypeError,
    ScriptValueError,
    StaticTypeError,
)


@dataclass(frozen=True, kw_only=True)
class UnknownOp(Diagnostic):
    """An opset has no operator of this name, in any version."""

    code: ClassVar[str] = "OW501"
    title: ClassVar[str] = "{opset} has no operator `{name}`"
    label: ClassVar[str] = "no such operator"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ScriptAttributeError

    opset: str
    name: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class OpNotInVersion(Diagnostic):
    """An operator exists, but not in the version of the opset that was asked."""

    code: ClassVar[str] = "OW502"
    title: ClassVar[str] = "{opset} has no operator `{name}`: {when}"
    label: ClassVar[str] = "not in this version"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ScriptAttributeError

    opset: str
    name: str
    when: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class UnknownOpsetVersion(Diagnostic):
    """The installed onnx does not know this version of an opset."""

    code: ClassVar[str] = "OW503"
    title: ClassVar[str] = "{opset} does not exist: {known}"
    label: ClassVar[str] = "unknown version"
    help: ClassVar[str] = "use one of these versions, or install a newer `onnx`"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError

    opset: str
    known: str


@dataclass(frozen=True, kw_only=True)
class BadOpset(Diagnostic):
    """`Opset(domain, version)` is given something that is not a domain or not a version."""

    code: ClassVar[str] = "OW504"
    title: ClassVar[str] = "`Opset({domain}, {version})` is not a valid opset"
    label: ClassVar[str] = "made here"
    help: ClassVar[str] = "write `Opset('my.domain', 1)`: a text and a number from 1"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    domain: str
    version: str


@dataclass(frozen=True, kw_only=True)
class TooManyInputs(Diagnostic):
    """A call has more positional arguments than the operator has inputs and attributes."""

    code: ClassVar[str] = "OW505"
    title: ClassVar[str] = "`{op}` takes at most {most}, {given} were given"
    label: ClassVar[str] = "too many arguments"
    help: ClassVar[str] = "the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    op: str
    most: str
    given: int
    signature: str


@dataclass(frozen=True, kw_only=True)
class MissingInput(Diagnostic):
    """A call does not give an input that the operator needs."""

    code: ClassVar[str] = "OW506"
    title: ClassVar[str] = "`{op}` needs the input `{name}`"
    label: ClassVar[str] = "`{name}` is missing"
    help: ClassVar[str] = "the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    op: str
    name: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class TooFewInputs(Diagnostic):
    """A call gives a variadic input fewer values than the operator needs."""

    code: ClassVar[str] = "OW507"
    title: ClassVar[str] = "`{op}` needs at least {least}, {given} were given"
    label: ClassVar[str] = "too few inputs"
    help: ClassVar[str] = "the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    op: str
    least: str
    given: int
    signature: str


@dataclass(frozen=True, kw_only=True)
class UnknownKeyword(Diagnostic):
    """A keyword of a call names neither an input nor an attribute of the operator."""

    code: ClassVar[str] = "OW508"
    title: ClassVar[str] = "`{op}` has no input or attribute `{name}`"
    label: ClassVar[str] = "no such name"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    op: str
    name: str
    hint: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class GivenTwice(Diagnostic):
    """An input or attribute is given by position and by keyword."""

    code: ClassVar[str] = "OW509"
    title: ClassVar[str] = "`{op}` is given `{name}` twice, by position and by keyword"
    label: ClassVar[str] = "given twice"
    help: ClassVar[str] = "drop one of the two; the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    op: str
    name: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class MissingAttribute(Diagnostic):
    """A call does not give an attribute that the operator needs."""

    code: ClassVar[str] = "OW510"
    title: ClassVar[str] = "`{op}` needs the attribute `{name}: {kind}`"
    label: ClassVar[str] = "`{name}=` is missing"
    help: ClassVar[str] = "the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError

    op: str
    name: str
    kind: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class WrongAttributeType(Diagnostic):
    """An attribute is given a Python value of another type."""

    code: ClassVar[str] = "OW511"
    title: ClassVar[str] = "attribute `{name}` of `{op}` is `{kind}`, not {given}"
    label: ClassVar[str] = "expected `{kind}`"
    help: ClassVar[str] = "the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError

    op: str
    name: str
    kind: str
    given: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class TensorAsAttribute(Diagnostic):
    """An attribute is given a tensor, whose value is not known when the model is built."""

    code: ClassVar[str] = "OW512"
    title: ClassVar[str] = "attribute `{name}` of `{op}` is given a tensor"
    label: ClassVar[str] = "expected `{kind}`, known when the model is built"
    help: ClassVar[str] = (
        "an attribute is part of the model: give a Python value, or annotate the parameter it "
        "comes from as `{kind}`; the operator is {signature}"
    )
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError

    op: str
    name: str
    kind: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class AttributeOutOfRange(Diagnostic):
    """A number does not fit into an attribute, or is not one that the attribute can have."""

    code: ClassVar[str] = "OW513"
    title: ClassVar[str] = "attribute `{name}` of `{op}` cannot hold {given}"
    label: ClassVar[str] = "out of range"
    help: ClassVar[str] = "{limit}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError

    op: str
    name: str
    given: str
    limit: str


@dataclass(frozen=True, kw_only=True)
class BadReservedKeyword(Diagnostic):
    """`_outputs=` or `_name=` is given something else than a number or a text."""

    code: ClassVar[str] = "OW514"
    title: ClassVar[str] = "`{name}=` of `{op}` is {given}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = (
        "`_outputs=` is the number of outputs, {range}; `_name=` is the name of the node"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError

    op: str
    name: str
    given: str
    range: str = "from 1"


__all__ = [
    "AttributeOutOfRange",
    "BadOpset",
    "BadReservedKeyword",
    "GivenTwice",
    "MissingAttribute",
    "MissingInput",
    "OpNotInVersion",
    "TensorAsAttribute",
    "TooFewInputs",
    "TooManyInputs",
    "UnknownKeyword",
    "UnknownOp",
    "UnknownOpsetVersion",
    "WrongAttributeType",
]
