"""Messages about functions and models as a whole: inputs, outputs, attributes, callees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import InternalError, OnnxwrightError, ScriptTypeError, ScriptValueError


@dataclass(frozen=True, kw_only=True)
class InputWithoutType(Diagnostic):
    """A model's input has no element type."""

    code: ClassVar[str] = "OW701"
    title: ClassVar[str] = "input `{name}` of `{function}` has no single element type"
    label: ClassVar[str] = "a model needs the type of every input"
    help: ClassVar[str] = "annotate it (`{name}: FLOAT[...]`), or pass `input_types=`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    function: str


@dataclass(frozen=True, kw_only=True)
class AttributeWithoutValue(Diagnostic):
    """A model's main function has an attribute parameter without a value."""

    code: ClassVar[str] = "OW702"
    title: ClassVar[str] = "attribute `{name}` of `{function}` has no value"
    label: ClassVar[str] = "a model has no attributes of its own"
    help: ClassVar[str] = (
        "pass `to_model_proto(attributes={{'{name}': ...}})`, or give it a default"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    function: str


@dataclass(frozen=True, kw_only=True)
class UnknownArgument(Diagnostic):
    """`to_model_proto` is given an input, output, attribute or value that is not there."""

    code: ClassVar[str] = "OW703"
    title: ClassVar[str] = "`{function}` has no {what} `{name}`"
    label: ClassVar[str] = ""
    help: ClassVar[str] = "it has: {known}"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    function: str
    what: str
    name: str
    known: str


@dataclass(frozen=True, kw_only=True)
class WrongTypeCount(Diagnostic):
    """The number of types given does not match the number of inputs or outputs."""

    code: ClassVar[str] = "OW704"
    title: ClassVar[str] = "`{parameter}` has {given} types, `{function}` has {count} {what}"
    label: ClassVar[str] = ""
    help: ClassVar[str] = "give one type for each, in order, or a dict from names to types"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    parameter: str
    given: int
    function: str
    count: int
    what: str


@dataclass(frozen=True, kw_only=True)
class TwoFunctionsOneName(Diagnostic):
    """Two different functions of one domain and name meet in one model."""

    code: ClassVar[str] = "OW705"
    title: ClassVar[str] = "two functions are called `{name}` in domain `{domain}`"
    label: ClassVar[str] = "this one is {second}"
    help: ClassVar[str] = "put one in a custom domain (the other is {first}), or rename it"
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    name: str
    domain: str
    first: str
    second: str


@dataclass(frozen=True, kw_only=True)
class TypesContradict(Diagnostic):
    """A type given for an input, output or value contradicts what is known of it."""

    code: ClassVar[str] = "OW706"
    title: ClassVar[str] = "{what} `{name}` is {known}, not {given}"
    label: ClassVar[str] = ""
    help: ClassVar[str] = "give a type that fits, or leave it out"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    what: str
    name: str
    known: str
    given: str


@dataclass(frozen=True, kw_only=True)
class VariadicFunction(Diagnostic):
    """A function with `*args` is asked for as an ONNX function."""

    code: ClassVar[str] = "OW707"
    title: ClassVar[str] = "`{name}` takes `*{parameter}`, which an ONNX function cannot"
    label: ClassVar[str] = "defined here"
    help: ClassVar[str] = (
        "call it from another script (its body is then inlined), or name the inputs"
    )
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    parameter: str


@dataclass(frozen=True, kw_only=True)
class UnknownFunctionChoice(Diagnostic):
    """`functions=` names something that is not a choice."""

    code: ClassVar[str] = "OW708"
    title: ClassVar[str] = "`functions={given}` is not a valid choice"
    label: ClassVar[str] = ""
    help: ClassVar[str] = 'use "all", "none", "external", or a list of scripts (or of their names)'
    error: ClassVar[type[OnnxwrightError]] = ScriptValueError
    given: str


@dataclass(frozen=True, kw_only=True)
class OutputWithoutType(Diagnostic):
    """A model's output has an element type that cannot be inferred."""

    code: ClassVar[str] = "OW709"
    title: ClassVar[str] = "the type of output `{name}` of `{function}` is not known"
    label: ClassVar[str] = "returned here"
    help: ClassVar[str] = "annotate the result (`-> FLOAT[...]`), or pass `output_types=`"
    error: ClassVar[type[OnnxwrightError]] = ScriptTypeError
    name: str
    function: str


@dataclass(frozen=True, kw_only=True)
class RankNotKnown(Diagnostic):
    """An input or output of a model has no rank; runtimes take it, `onnx.checker` does not."""

    code: ClassVar[str] = "OW710"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "{what} `{name}` of `{function}` has no known rank"
    label: ClassVar[str] = "onnx.checker rejects such models; runtimes run them"
    help: ClassVar[str] = 'give it a shape: `{kind}["N", 3]`, or `{kind}[()]` for a scalar'
    what: str
    name: str
    function: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class CompilerBug(Diagnostic):
    """Something went wrong inside onnxwright."""

    code: ClassVar[str] = "OW901"
    title: ClassVar[str] = "internal error: {exception}: {reason}"
    label: ClassVar[str] = "while compiling this"
    help: ClassVar[str] = "this is a bug in onnxwright; please report it with the function"
    error: ClassVar[type[OnnxwrightError]] = InternalError
    exception: str
    reason: str
