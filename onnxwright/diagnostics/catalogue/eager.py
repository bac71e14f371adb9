"""Messages of eager mode: values, evaluators, calls the runtime refuses (OW60x to OW64x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import EagerError, EagerTypeError, EagerValueError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class TruthOfManyElements(Diagnostic):
    """A tensor of more (or fewer) than one element is used where Python needs one truth value."""

    code: ClassVar[str] = "OW601"
    title: ClassVar[str] = "the truth value of a tensor of {size} elements is ambiguous"
    label: ClassVar[str] = "{kind} is used as one truth value"
    help: ClassVar[str] = (
        "combine elements with `&`, `|`, `~` instead of `and`, `or`, `not`; or reduce the tensor "
        "first, for example with `op.ReduceMax`"
    )
    error: ClassVar[type[OnnxwrightError]] = EagerValueError
    kind: str
    size: int


@dataclass(frozen=True, kw_only=True)
class NotOneNumber(Diagnostic):
    """`int()`, `float()`, an index or a format needs one number; the tensor has more, or none."""

    code: ClassVar[str] = "OW602"
    title: ClassVar[str] = "{kind} cannot be used as {wanted}"
    label: ClassVar[str] = "one number is needed here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    kind: str
    wanted: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class ScalarHasNoAxis(Diagnostic):
    """`len()` or iteration needs a first axis; a scalar has none."""

    code: ClassVar[str] = "OW603"
    title: ClassVar[str] = "a scalar tensor has no first axis to {verb}"
    label: ClassVar[str] = "this is a scalar"
    help: ClassVar[str] = "check `x.ndim` first, or give the tensor an axis with `x[None]`"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    verb: str


@dataclass(frozen=True, kw_only=True)
class NotAnArray(Diagnostic):
    """An object cannot be made an eager tensor."""

    code: ClassVar[str] = "OW604"
    title: ClassVar[str] = "{what} cannot become a tensor"
    label: ClassVar[str] = "an array, a number or a list of numbers is needed"
    help: ClassVar[str] = "give a numpy array, a number, a nested list of numbers, or a Tensor"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    what: str


@dataclass(frozen=True, kw_only=True)
class WrongArgumentType(Diagnostic):
    """An argument of a function has a type that its parameter does not allow."""

    code: ClassVar[str] = "OW605"
    title: ClassVar[str] = "`{function}`: parameter `{parameter}` takes {wanted}, got {got}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    function: str
    parameter: str
    wanted: str
    got: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class CallDoesNotFit(Diagnostic):
    """A function is called with too many, too few or unknown arguments."""

    code: ClassVar[str] = "OW606"
    title: ClassVar[str] = "`{function}` cannot be called like this: {reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "the function is {function}{signature}"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    function: str
    reason: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class WrongResult(Diagnostic):
    """A function returns something that its annotation does not promise."""

    code: ClassVar[str] = "OW607"
    title: ClassVar[str] = "`{function}` returned {got}, its annotation says {wanted}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    function: str
    got: str
    wanted: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class NoKernel(Diagnostic):
    """The evaluator cannot run an operator on these types."""

    code: ClassVar[str] = "OW611"
    title: ClassVar[str] = "{evaluator} cannot run `{op}` on ({inputs})"
    label: ClassVar[str] = "{reason}"
    help: ClassVar[str] = (
        "{kernels}; cast the inputs, or run it elsewhere: "
        '`with onnxwright.evaluator("reference"): ...`, or make '
        '`OrtEvaluator(fallback="reference")` the default; the operator is {signature}'
    )
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    evaluator: str
    op: str
    inputs: str
    reason: str
    kernels: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class OpFailed(Diagnostic):
    """The evaluator failed while it ran an operator."""

    code: ClassVar[str] = "OW612"
    title: ClassVar[str] = "`{op}` failed on ({inputs}): {reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "the operator is {signature}"
    error: ClassVar[type[OnnxwrightError]] = EagerError
    evaluator: str
    op: str
    inputs: str
    reason: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class NoImplementation(Diagnostic):
    """An operator of a custom domain is called and has no implementation."""

    code: ClassVar[str] = "OW613"
    title: ClassVar[str] = (
        "no implementation registered for `{op}` of domain `{domain}`, version {version}"
    )
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = (
        '`onnxwright.eager.implement("{domain}", "{op}")(python_function)` gives it a Python '
        "implementation, `onnxwright.eager.implement_function(function_proto)` an ONNX one; a "
        "library of compiled ops goes to `OrtEvaluator(custom_op_libraries=[...])`"
    )
    error: ClassVar[type[OnnxwrightError]] = EagerError
    op: str
    domain: str
    version: int


@dataclass(frozen=True, kw_only=True)
class FellBack(Diagnostic):
    """An operator has no kernel here and is run by the fallback evaluator; reported once per op."""

    code: ClassVar[str] = "OW614"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "`{op}` on ({inputs}) is run by {fallback}: {evaluator} has no kernel"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "this is slower; it is reported once for each operator and types"
    error: ClassVar[type[OnnxwrightError]] = EagerError
    op: str
    inputs: str
    evaluator: str
    fallback: str


@dataclass(frozen=True, kw_only=True)
class UnknownEvaluator(Diagnostic):
    """Something that is not an evaluator is chosen as one."""

    code: ClassVar[str] = "OW615"
    title: ClassVar[str] = "{what} is not a valid evaluator"
    label: ClassVar[str] = "chosen here"
    help: ClassVar[str] = (
        'use "ort", "reference", or an object with a method '
        "`run_op(op, inputs, attributes, outputs)`"
    )
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    what: str


@dataclass(frozen=True, kw_only=True)
class WrongEvaluatorResult(Diagnostic):
    """An evaluator or a Python implementation gave a wrong number or kind of results."""

    code: ClassVar[str] = "OW616"
    title: ClassVar[str] = "{who} gave {got} for `{op}`, expected {wanted}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "return one array, or a tuple or list with one array for each output"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    who: str
    op: str
    got: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class ImplementedTwice(Diagnostic):
    """A custom operator is given a second implementation."""

    code: ClassVar[str] = "OW617"
    title: ClassVar[str] = "`{op}` of domain `{domain}` is already implemented, at {place}"
    label: ClassVar[str] = "second implementation"
    help: ClassVar[str] = "pass `replace=True` if the new one is meant to take its place"
    error: ClassVar[type[OnnxwrightError]] = EagerValueError
    op: str
    domain: str
    place: str


@dataclass(frozen=True, kw_only=True)
class WrongBodyResult(Diagnostic):
    """A callable given as a subgraph returned something the operator cannot use."""

    code: ClassVar[str] = "OW618"
    title: ClassVar[str] = "`{attribute}` of `{op}` returned {got}, expected {wanted}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    op: str
    attribute: str
    got: str
    wanted: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class WrongBodyCall(Diagnostic):
    """A callable given as a subgraph cannot be called with what the operator gives it."""

    code: ClassVar[str] = "OW619"
    title: ClassVar[str] = "`{attribute}` of `{op}` is called with {given}, it takes {takes}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    op: str
    attribute: str
    given: str
    takes: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class BadLoopInput(Diagnostic):
    """An input of a control-flow operator is missing or has an impossible size."""

    code: ClassVar[str] = "OW620"
    title: ClassVar[str] = "`{op}`: {reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerValueError
    op: str
    reason: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class BadModelInput(Diagnostic):
    """A model is run with inputs that are not the ones it has."""

    code: ClassVar[str] = "OW621"
    title: ClassVar[str] = "the model cannot be run with these inputs: {reason}"
    label: ClassVar[str] = "run here"
    help: ClassVar[str] = "the model's inputs are: {inputs}"
    error: ClassVar[type[OnnxwrightError]] = EagerTypeError
    reason: str
    inputs: str


@dataclass(frozen=True, kw_only=True)
class ModelFailed(Diagnostic):
    """A whole model was refused, or failed, in the runtime."""

    code: ClassVar[str] = "OW622"
    title: ClassVar[str] = "{evaluator} {verb} the model: {reason}"
    label: ClassVar[str] = "{where}"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerError
    evaluator: str
    verb: str
    reason: str
    where: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class BadValueFound(Diagnostic):
    """A trace was asked to stop at a bad value, and found one."""

    code: ClassVar[str] = "OW623"
    title: ClassVar[str] = "`{name}` has {what}: {found}"
    label: ClassVar[str] = "first made here"
    help: ClassVar[str] = "the run up to here is `error.trace`, or `error.debug` for a model"
    error: ClassVar[type[OnnxwrightError]] = EagerValueError
    name: str
    what: str
    found: str


@dataclass(frozen=True, kw_only=True)
class UnknownNode(Diagnostic):
    """A debugging tool is asked for a node or value that the model does not have."""

    code: ClassVar[str] = "OW624"
    title: ClassVar[str] = "the model has no {what} `{name}`"
    label: ClassVar[str] = "asked for here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerValueError
    what: str
    name: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class BadOption(Diagnostic):
    """An option of an eager tool has a value it does not know."""

    code: ClassVar[str] = "OW625"
    title: ClassVar[str] = "`{option}={given}` is not a valid choice"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = EagerValueError
    option: str
    given: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class UnpackedLater(Diagnostic):
    """One output of an operator is unpacked into several names after the statement of the call."""

    code: ClassVar[str] = "OW626"
    title: ClassVar[str] = "`{operation}` returned 1 output, which is unpacked into {wanted} names"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = (
        "the number of outputs follows from the statement of the call: unpack the call itself, or "
        "ask for the outputs with `_outputs={wanted}`"
    )
    error: ClassVar[type[OnnxwrightError]] = EagerValueError
    operation: str
    wanted: int


__all__ = [
    "BadLoopInput",
    "BadModelInput",
    "BadOption",
    "BadValueFound",
    "CallDoesNotFit",
    "FellBack",
    "ImplementedTwice",
    "ModelFailed",
    "NoImplementation",
    "NoKernel",
    "NotAnArray",
    "NotOneNumber",
    "OpFailed",
    "ScalarHasNoAxis",
    "TruthOfManyElements",
    "UnknownEvaluator",
    "UnknownNode",
    "UnpackedLater",
    "WrongArgumentType",
    "WrongBodyCall",
    "WrongBodyResult",
    "WrongEvaluatorResult",
    "WrongResult",
]
