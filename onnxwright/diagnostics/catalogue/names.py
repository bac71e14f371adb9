"""Messages about names and about the source of a function."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import (
    ScriptAttributeError,
    ScriptError,
    ScriptNameError,
    ScriptTypeError,
    ScriptValueError,
    StaticAttributeError,
    StaticTypeError,
)


class UnknownName(Advised):
    """A name that is defined nowhere Python would look for it."""

    code = "OW201"
    title = "name `{name}` is not defined"
    label = "used here"
    error = ScriptNameError
    name: str


class NoSource(Advised):
    """The source text of a function cannot be found."""

    code = "OW202"
    title = "the source of `{name}` cannot be found"
    label = ""
    error = ScriptError
    name: str


class SourceChanged(Diagnostic):
    """The file of a function was edited after the function was made."""

    code = "OW203"
    title = "the source of `{name}` is not the text it was made from"
    label = "`{name}` was defined about here"
    help = "import the module again, or give the text: `script(source=...)`"
    error = ScriptError
    name: str


class NoSuchAttribute(Advised):
    """An attribute that an object known when compiling does not have."""

    code = "OW204"
    title = "{what} has no attribute `{name}`"
    label = "read here"
    error = ScriptAttributeError
    what: str
    name: str


class NotCallable(Advised):
    """Something is called that cannot be called in a graph."""

    code = "OW205"
    title = "{what} cannot be called with tensors"
    label = "called here"
    error = StaticTypeError
    what: str


class Recursion(Diagnostic):
    """A function that calls itself, directly or through others."""

    code = "OW206"
    title = "`{name}` calls itself"
    label = "called again here"
    help = "ONNX functions cannot recurse: use a loop ({chain})"
    error = ScriptTypeError
    name: str
    chain: str


class BadCall(Diagnostic):
    """The arguments of a call to a function do not fit its parameters."""

    code = "OW207"
    title = "`{name}` {reason}"
    label = "called here"
    help = "its signature is `{name}{signature}`"
    error = ScriptTypeError
    name: str
    reason: str
    signature: str


class StaticFailure(Advised):
    """A Python operation on values known when compiling raises an exception."""

    code = "OW208"
    title = "{exception}: {reason}"
    label = "evaluated when compiling"
    error = StaticTypeError
    exception: str
    reason: str
    advice: str = "this part has no tensors in it, so Python itself computes it"


class TextNotUnicode(Diagnostic):
    """A text holds half of a surrogate pair: it cannot be encoded as UTF-8, as models require."""

    code = "OW627"
    title = "{what} `{text}` cannot be encoded as UTF-8"
    label = "given here"
    help = (
        "it holds an unpaired surrogate, which models and files cannot store: such a character "
        "comes from bytes that were decoded with another encoding; decode them as UTF-8"
    )
    error = ScriptValueError
    what: str
    text: str


class MethodOfTensor(Advised):
    """A method or property that tensors do not have in scripts."""

    code = "OW209"
    title = "{what} have no `{name}`"
    label = "read here"
    error = StaticAttributeError
    name: str
    what: str = "tensors"
