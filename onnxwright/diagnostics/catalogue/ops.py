"""Messages about operators while a graph is built: inputs and attributes that do not fit."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ScriptTypeError, ScriptValueError, StaticTypeError


class InputsDoNotFit(Diagnostic):
    """The inputs of an operator contradict each other: no runtime can compute it."""

    code = "OW531"
    title = "invalid inputs for `{operation}`: {reason}"
    label = "called with ({types})"
    help = "the operator is {signature}"
    error = ScriptTypeError
    operation: str
    reason: str
    types: str
    signature: str


class BadAttributeValue(Diagnostic):
    """A Python value cannot become an attribute of an operator."""

    code = "OW532"
    title = "attribute `{name}` of `{operation}` cannot hold this value"
    label = "{reason}"
    help = "attributes are numbers, strings, lists of them, tensors, types or graphs"
    error = ScriptTypeError
    operation: str
    name: str
    reason: str


class NoTruthWhileBuilding(Diagnostic):
    """Python asks a graph value for its truth while the graph is being built."""

    code = "OW533"
    title = "`{name}` has no value yet, so it cannot be true or false"
    label = "its truth value is needed here"
    help = "use `op.If` or `op.Where`, or write the function with `@script`"
    error = ScriptTypeError
    name: str


class ValueNeededNow(Advised):
    """A tensor known only at run time is used where a Python value is needed."""

    code = "OW534"
    title = "{what} must be known when compiling"
    label = "this is a tensor, known only when the model runs"
    error = StaticTypeError
    what: str


class WrongOutputCount(Diagnostic):
    """A result is unpacked into more or fewer names than it has parts."""

    code = "OW535"
    title = "{what} gives {got}, unpacked into {expected}"
    label = "{expected} here"
    help = (
        "give as many names as there are values; more outputs of an operator are there where its "
        "call itself is unpacked, or with `_outputs=`"
    )
    error = ScriptValueError
    what: str
    got: str
    expected: str


class OpsetsDisagree(Diagnostic):
    """Two calls use versions of an operator set whose schemas differ and cannot be converted."""

    code = "OW536"
    title = "`{operation}` of {domain} {version} cannot be used with version {target}"
    label = "called from version {version} here"
    help = (
        "the operator changed between the two: call both from one opset version, "
        "or pass `opset_version=`; {reason}"
    )
    error = ScriptValueError
    operation: str
    domain: str
    version: int
    target: int
    reason: str
