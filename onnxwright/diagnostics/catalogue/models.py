"""Messages about functions and models as a whole: inputs, outputs, attributes, callees."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import InternalError, ScriptTypeError, ScriptValueError


class InputWithoutType(Diagnostic):
    """A model's input has no element type."""

    code = "OW701"
    title = "input `{name}` of `{function}` has no single element type"
    label = "a model needs the type of every input"
    help = "annotate it (`{name}: FLOAT[...]`), or pass `input_types=`"
    error = ScriptTypeError
    name: str
    function: str


class AttributeWithoutValue(Diagnostic):
    """A model's main function has an attribute parameter without a value."""

    code = "OW702"
    title = "attribute `{name}` of `{function}` has no value"
    label = "a model has no attributes of its own"
    help = "pass `to_model_proto(attributes={{'{name}': ...}})`, or give it a default"
    error = ScriptValueError
    name: str
    function: str


class UnknownArgument(Diagnostic):
    """`to_model_proto` is given an input, output, attribute or value that is not there."""

    code = "OW703"
    title = "`{function}` has no {what} `{name}`"
    label = ""
    help = "it has: {names}"
    error = ScriptValueError
    function: str
    what: str
    name: str
    names: str


class WrongTypeCount(Diagnostic):
    """The number of types given does not match the number of inputs or outputs."""

    code = "OW704"
    title = "`{parameter}` has {types} types, `{function}` has {count} {what}"
    label = ""
    help = "give one type for each, in order, or a dict from names to types"
    error = ScriptValueError
    parameter: str
    types: int
    function: str
    count: int
    what: str


class TwoFunctionsOneName(Diagnostic):
    """Two different functions of one domain and name meet in one model."""

    code = "OW705"
    title = "two functions are called `{name}` in domain `{domain}`"
    label = "this one is {second}"
    help = "put one in a custom domain (the other is {first}), or rename it"
    error = ScriptValueError
    name: str
    domain: str
    first: str
    second: str


class TypesContradict(Diagnostic):
    """A type given for an input, output or value contradicts what is known of it."""

    code = "OW706"
    title = "{what} `{name}` is {known_type}, not {given_type}"
    label = ""
    help = "give a type that fits, or leave it out"
    error = ScriptTypeError
    what: str
    name: str
    known_type: str
    given_type: str


class VariadicFunction(Diagnostic):
    """A function with `*args` is asked for as an ONNX function."""

    code = "OW707"
    title = "`{name}` takes `*{parameter}`, which an ONNX function cannot"
    label = "defined here"
    help = "call it from another script (its body is then inlined), or name the inputs"
    error = ScriptTypeError
    name: str
    parameter: str


class UnknownFunctionChoice(Diagnostic):
    """`functions=` names something that is not a choice."""

    code = "OW708"
    title = "`functions={value}` is not a valid choice"
    label = ""
    help = 'use "all", "none", "external", or a list of scripts (or of their names)'
    error = ScriptValueError
    value: str


class OutputWithoutType(Diagnostic):
    """A model's output has an element type that cannot be inferred."""

    code = "OW709"
    title = "the type of output `{name}` of `{function}` is not known"
    label = "returned here"
    help = "annotate the result (`-> FLOAT[...]`), or pass `output_types=`"
    error = ScriptTypeError
    name: str
    function: str


class RankNotKnown(Diagnostic):
    """An input or output of a model has no rank; runtimes take it, `onnx.checker` does not."""

    code = "OW710"
    severity = "warning"
    title = "{what} `{name}` of `{function}` has no known rank"
    label = "onnx.checker rejects such models; runtimes run them"
    help = 'give it a shape: `{kind}["N", 3]`, or `{kind}[()]` for a scalar'
    what: str
    name: str
    function: str
    kind: str


class CompilerBug(Diagnostic):
    """Something went wrong inside onnxwright."""

    code = "OW901"
    title = "internal error: {exception}: {reason}"
    label = "while compiling this"
    help = "this is a bug in onnxwright; please report it with the function"
    error = InternalError
    exception: str
    reason: str
