"""Messages about operators and opsets: names that do not exist, calls that do not fit (OW50x)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Diagnostic, Hinted
from onnxwright.errors import (
    ScriptAttributeError,
    ScriptTypeError,
    ScriptValueError,
    StaticTypeError,
)


class UnknownOp(Hinted):
    """An opset has no operator of this name, in any version."""

    code = "OW501"
    title = "{opset} has no operator `{name}`"
    label = "no such operator"
    error = ScriptAttributeError

    opset: str
    name: str


class OpNotInVersion(Hinted):
    """An operator exists, but not in the version of the opset that was asked."""

    code = "OW502"
    title = "{opset} has no operator `{name}`: {when}"
    label = "not in this version"
    error = ScriptAttributeError

    opset: str
    name: str
    when: str


class UnknownOpsetVersion(Diagnostic):
    """The installed onnx does not know this version of an opset."""

    code = "OW503"
    title = "{opset} does not exist: {versions}"
    label = "unknown version"
    help = "use one of these versions, or install a newer `onnx`"
    error = ScriptValueError

    opset: str
    versions: str


class BadOpset(Diagnostic):
    """`Opset(domain, version)` is given something that is not a domain or not a version."""

    code = "OW504"
    title = "`Opset({domain}, {version})` is not a valid opset"
    label = "made here"
    help = "write `Opset('my.domain', 1)`: a text and a number from 1"
    error = ScriptTypeError

    domain: str
    version: str


class TooManyInputs(Diagnostic):
    """A call has more positional arguments than the operator has inputs and attributes."""

    code = "OW505"
    title = "`{op}` takes at most {most}, {count} were given"
    label = "too many arguments"
    help = "the operator is {signature}"
    error = ScriptTypeError

    op: str
    most: str
    count: int
    signature: str


class MissingInput(Diagnostic):
    """A call does not give an input that the operator needs."""

    code = "OW506"
    title = "`{op}` needs the input `{name}`"
    label = "`{name}` is missing"
    help = "the operator is {signature}"
    error = ScriptTypeError

    op: str
    name: str
    signature: str


class TooFewInputs(Diagnostic):
    """A call gives a variadic input fewer values than the operator needs."""

    code = "OW507"
    title = "`{op}` needs at least {least}, {count} were given"
    label = "too few inputs"
    help = "the operator is {signature}"
    error = ScriptTypeError

    op: str
    least: str
    count: int
    signature: str


class UnknownKeyword(Hinted):
    """A keyword of a call names neither an input nor an attribute of the operator."""

    code = "OW508"
    title = "`{op}` has no input or attribute `{name}`"
    label = "no such name"
    error = ScriptTypeError

    op: str
    name: str
    signature: str


class GivenTwice(Diagnostic):
    """An input or attribute is given by position and by keyword."""

    code = "OW509"
    title = "`{op}` is given `{name}` twice, by position and by keyword"
    label = "given twice"
    help = "drop one of the two; the operator is {signature}"
    error = ScriptTypeError

    op: str
    name: str
    signature: str


class MissingAttribute(Diagnostic):
    """A call does not give an attribute that the operator needs."""

    code = "OW510"
    title = "`{op}` needs the attribute `{name}: {kind}`"
    label = "`{name}=` is missing"
    help = "the operator is {signature}"
    error = ScriptTypeError

    op: str
    name: str
    kind: str
    signature: str


class WrongAttributeType(Diagnostic):
    """An attribute is given a Python value of another type."""

    code = "OW511"
    title = "attribute `{name}` of `{op}` is `{kind}`, not {value}"
    label = "expected `{kind}`"
    help = "the operator is {signature}"
    error = StaticTypeError

    op: str
    name: str
    kind: str
    value: str
    signature: str


class TensorAsAttribute(Diagnostic):
    """An attribute is given a tensor, whose value is not known when the model is built."""

    code = "OW512"
    title = "attribute `{name}` of `{op}` is given a tensor"
    label = "expected `{kind}`, known when the model is built"
    help = (
        "an attribute is part of the model: give a Python value, or annotate the parameter it "
        "comes from as `{kind}`; the operator is {signature}"
    )
    error = StaticTypeError

    op: str
    name: str
    kind: str
    signature: str


class AttributeOutOfRange(Diagnostic):
    """A number does not fit into an attribute, or is not one that the attribute can have."""

    code = "OW513"
    title = "attribute `{name}` of `{op}` cannot hold {value}"
    label = "out of range"
    help = "{limit}"
    error = ScriptValueError

    op: str
    name: str
    value: str
    limit: str


class BadReservedKeyword(Diagnostic):
    """`_outputs=` or `_name=` is given something else than a number or a text."""

    code = "OW514"
    title = "`{name}=` of `{op}` is {value}"
    label = "given here"
    help = "`_outputs=` is the number of outputs, {range}; `_name=` is the name of the node"
    error = ScriptValueError

    op: str
    name: str
    value: str
    range: str = "from 1"
