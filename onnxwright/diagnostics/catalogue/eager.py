"""Messages of eager mode: values, evaluators, calls the runtime refuses (OW60x to OW64x)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import EagerError, EagerTypeError, EagerValueError


class TruthOfManyElements(Diagnostic):
    """A tensor of more (or fewer) than one element is used where Python needs one truth value."""

    code = "OW601"
    title = "the truth value of a tensor of {size} elements is ambiguous"
    label = "{kind} is used as one truth value"
    help = (
        "combine elements with `&`, `|`, `~` instead of `and`, `or`, `not`; or reduce the tensor "
        "first, for example with `op.ReduceMax`"
    )
    error = EagerValueError
    kind: str
    size: int


class NotOneNumber(Advised):
    """`int()`, `float()`, an index or a format needs one number; the tensor has more, or none."""

    code = "OW602"
    title = "{kind} cannot be used as {use}"
    label = "one number is needed here"
    error = EagerTypeError
    kind: str
    use: str


class ScalarHasNoAxis(Diagnostic):
    """`len()` or iteration needs a first axis; a scalar has none."""

    code = "OW603"
    title = "a scalar tensor has no first axis to {verb}"
    label = "this is a scalar"
    help = "check `x.ndim` first, or give the tensor an axis with `x[None]`"
    error = EagerTypeError
    verb: str


class NotAnArray(Diagnostic):
    """An object cannot be made an eager tensor."""

    code = "OW604"
    title = "{what} cannot become a tensor"
    label = "an array, a number or a list of numbers is needed"
    help = "give a numpy array, a number, a nested list of numbers, or a Tensor"
    error = EagerTypeError
    what: str


class WrongArgumentType(Advised):
    """An argument of a function has a type that its parameter does not allow."""

    code = "OW605"
    title = "`{function}`: parameter `{parameter}` takes {expected}, got {got}"
    label = "called here"
    error = EagerTypeError
    function: str
    parameter: str
    expected: str
    got: str


class CallDoesNotFit(Diagnostic):
    """A function is called with too many, too few or unknown arguments."""

    code = "OW606"
    title = "`{function}` cannot be called like this: {reason}"
    label = "called here"
    help = "the function is {function}{signature}"
    error = EagerTypeError
    function: str
    reason: str
    signature: str


class WrongResult(Advised):
    """A function returns something that its annotation does not promise."""

    code = "OW607"
    title = "`{function}` returned {got}, its annotation says {expected}"
    label = "called here"
    error = EagerTypeError
    function: str
    got: str
    expected: str


class NoKernel(Diagnostic):
    """The evaluator cannot run an operator on these types."""

    code = "OW611"
    title = "{evaluator} cannot run `{op}` on ({inputs})"
    label = "{reason}"
    help = (
        "{kernels}; cast the inputs, or run it elsewhere: "
        '`with onnxwright.evaluator("reference"): ...`, or make '
        '`OrtEvaluator(fallback="reference")` the default; the operator is {signature}'
    )
    error = EagerTypeError
    evaluator: str
    op: str
    inputs: str
    reason: str
    kernels: str
    signature: str


class OpFailed(Diagnostic):
    """The evaluator failed while it ran an operator."""

    code = "OW612"
    title = "`{op}` failed on ({inputs}): {reason}"
    label = "called here"
    help = "the operator is {signature}"
    error = EagerError
    evaluator: str
    op: str
    inputs: str
    reason: str
    signature: str


class NoImplementation(Diagnostic):
    """An operator of a custom domain is called and has no implementation."""

    code = "OW613"
    title = "no implementation registered for `{op}` of domain `{domain}`, version {version}"
    label = "called here"
    help = (
        '`onnxwright.eager.implement("{domain}", "{op}")(python_function)` gives it a Python '
        "implementation, `onnxwright.eager.implement_function(function_proto)` an ONNX one; a "
        "library of compiled ops goes to `OrtEvaluator(custom_op_libraries=[...])`"
    )
    error = EagerError
    op: str
    domain: str
    version: int


class FellBack(Diagnostic):
    """An operator has no kernel here and is run by the fallback evaluator; reported once per op."""

    code = "OW614"
    severity = "warning"
    title = "`{op}` on ({inputs}) is run by {fallback}: {evaluator} has no kernel"
    label = "called here"
    help = "this is slower; it is reported once for each operator and types"
    error = EagerError
    op: str
    inputs: str
    evaluator: str
    fallback: str


class UnknownEvaluator(Diagnostic):
    """Something that is not an evaluator is chosen as one."""

    code = "OW615"
    title = "{what} is not a valid evaluator"
    label = "chosen here"
    help = (
        'use "ort", "reference", or an object with a method '
        "`run_op(op, inputs, attributes, outputs)`"
    )
    error = EagerTypeError
    what: str


class WrongEvaluatorResult(Diagnostic):
    """An evaluator or a Python implementation gave a wrong number or kind of results."""

    code = "OW616"
    title = "{who} gave {got} for `{op}`, expected {expected}"
    label = "called here"
    help = "return one array, or a tuple or list with one array for each output"
    error = EagerTypeError
    who: str
    op: str
    got: str
    expected: str


class ImplementedTwice(Diagnostic):
    """A custom operator is given a second implementation."""

    code = "OW617"
    title = "`{op}` of domain `{domain}` is already implemented, at {place}"
    label = "second implementation"
    help = "pass `replace=True` if the new one is meant to take its place"
    error = EagerValueError
    op: str
    domain: str
    place: str


class WrongBodyResult(Advised):
    """A callable given as a subgraph returned something the operator cannot use."""

    code = "OW618"
    title = "`{attribute}` of `{op}` returned {got}, expected {expected}"
    label = "called here"
    error = EagerTypeError
    op: str
    attribute: str
    got: str
    expected: str


class WrongBodyCall(Advised):
    """A callable given as a subgraph cannot be called with what the operator gives it."""

    code = "OW619"
    title = "`{attribute}` of `{op}` is called with {arguments}, it takes {takes}"
    label = "called here"
    error = EagerTypeError
    op: str
    attribute: str
    arguments: str
    takes: str


class BadLoopInput(Advised):
    """An input of a control-flow operator is missing or has an impossible size."""

    code = "OW620"
    title = "`{op}`: {reason}"
    label = "called here"
    error = EagerValueError
    op: str
    reason: str


class BadModelInput(Diagnostic):
    """A model is run with inputs that are not the ones it has."""

    code = "OW621"
    title = "the model cannot be run with these inputs: {reason}"
    label = "run here"
    help = "the model's inputs are: {inputs}"
    error = EagerTypeError
    reason: str
    inputs: str


class ModelFailed(Advised):
    """A whole model was refused, or failed, in the runtime."""

    code = "OW622"
    title = "{evaluator} {verb} the model: {reason}"
    label = "{where}"
    error = EagerError
    evaluator: str
    verb: str
    reason: str
    where: str


class BadValueFound(Diagnostic):
    """A trace was asked to stop at a bad value, and found one."""

    code = "OW623"
    title = "`{name}` has {what}: {value}"
    label = "first made here"
    help = "the run up to here is `error.trace`, or `error.debug` for a model"
    error = EagerValueError
    name: str
    what: str
    value: str


class UnknownNode(Advised):
    """A debugging tool is asked for a node or value that the model does not have."""

    code = "OW624"
    title = "the model has no {what} `{name}`"
    label = "asked for here"
    error = EagerValueError
    what: str
    name: str


class BadOption(Advised):
    """An option of an eager tool has a value it does not know."""

    code = "OW625"
    title = "`{option}={value}` is not a valid choice"
    label = "given here"
    error = EagerValueError
    option: str
    value: str


class UnpackedLater(Diagnostic):
    """One output of an operator is unpacked into several names after the statement of the call."""

    code = "OW626"
    title = "`{operation}` returned 1 output, which is unpacked into {names} names"
    label = "called here"
    help = (
        "the number of outputs follows from the statement of the call: unpack the call itself, or "
        "ask for the outputs with `_outputs={names}`"
    )
    error = EagerValueError
    operation: str
    names: int
