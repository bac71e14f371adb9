"""Messages about names and about the source of a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import (
    OnnxwrightError,
    ScriptAttributeError,
    ScriptError,
    ScriptNameError,
    ScriptTypeError,
    ScriptValueError,
    StaticAttributeError,
    StaticTypeError,
)


@dataclass(frozen=True, kw_only=True)
class UnknownName(Diagnostic):
    """A name that is defined nowhere Python would look for it."""

    code: ClassVar[str] = "OW201"
    title: ClassVar[str] = "name `{name}` is not defined"
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptNameError
    name: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class NoSource(Diagnostic):
    """The source text of a function cannot be found."""

    code: ClassVar[str] = "OW202"
    title: ClassVar[str] = "the source of `{name}` cannot be found"
    label: ClassVar[str] = ""
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptError
    name: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class SourceChanged(Diagnostic):
    """The file of a function was edited after the function was made."""

    code: ClassVar[str] = "OW203"
    title: ClassVar[str] = "the source of `{name}` is not the text it was made from"
    label: ClassVar[str] = "`{name}` was defined about here"
    help: ClassVar[str] = "import the module again, or give the text: `script(source=...)`"
    error: ClassVar[type[OnnxwrightError]] = ScriptError
    name: str


@dataclass(frozen=True, kw_only=True)
class NoSuchAttribute(Diagnostic):
    """An attribute that an object known when compiling does not have."""

    code: ClassVar[str] = "OW204"
    title: ClassVar[str] = "{what} has no attribute `{name}`"
    label: ClassVar[str] = "read here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ScriptAttributeError
    what: str
    name: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class NotCallable(Diagnostic):
    """Something is called that cannot be called in a graph."""

    code: ClassVar[str] = "OW205"
    title: ClassVar[str] = "{what} cannot be called with tensors"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    what: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class Recursion(Diagnostic):
    """A function that calls itself, directly or through others."""

    code: ClassVar[str] = "OW206"
    title: ClassVar[str] = "`{name}` calls itself"
    label: ClassVar[str] = "called again here"
    help: ClassVar[str] = "ONNX functions cannot recurse: use a loop ({chain})"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    chain: str


@dataclass(frozen=True, kw_only=True)
class BadCall(Diagnostic):
    """The arguments of a call to a function do not fit its parameters."""

    code: ClassVar[str] = "OW207"
    title: ClassVar[str] = "`{name}` {reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "its signature is `{name}{signature}`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    reason: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class StaticFailure(Diagnostic):
    """A Python operation on values known when compiling raises an exception."""

    code: ClassVar[str] = "OW208"
    title: ClassVar[str] = "{exception}: {reason}"
    label: ClassVar[str] = "evaluated when compiling"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = StaticTypeError
    exception: str
    reason: str
    advice: str = "this part has no tensors in it, so Python itself computes it"


@dataclass(frozen=True, kw_only=True)
class TextNotUnicode(Diagnostic):
    """A text holds half of a surrogate pair: it cannot be encoded as UTF-8, as models require."""

    code: ClassVar[str] = "OW627"
    title: ClassVar[str] = "{what} `{text}` cannot be encoded as UTF-8"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = (
        "it holds an unpaired surrogate, which models and files cannot store: such a character "
        "comes from bytes that were decoded with another encoding; decode them as UTF-8"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    what: str
    text: str


@dataclass(frozen=True, kw_only=True)
class MethodOfTensor(Diagnostic):
    """A method or property that tensors do not have in scripts."""

    code: ClassVar[str] = "OW209"
    title: ClassVar[str] = "{what} have no `{name}`"
    label: ClassVar[str] = "read here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = StaticAttributeError
    name: str
    advice: str
    what: str = "tensors"
