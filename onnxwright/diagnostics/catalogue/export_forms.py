"""Messages of the exporter about what ONNX does not have: forms of tensors, seeds (OW847 on)."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Diagnostic, Hinted
from onnxwright.errors import ExportError


class SparseTensor(Hinted):
    """A sparse input, result or weight: ONNX has no operators on sparse tensors."""

    code = "OW838"
    title = "{what} is sparse ({layout}), and the values of a model are dense"
    label = "exported here"
    error = ExportError
    what: str
    layout: str


class QuantizedResult(Hinted):
    """An input or output of the model is a quantized tensor; ONNX has no such values."""

    code = "OW847"
    title = "{what} of the model is a quantized tensor"
    label = "exported here"
    error = ExportError
    what: str


class NotDecided(Diagnostic):
    """Only made-up inputs show a difference, or PyTorch does not take those that were tried.

    `verify` makes inputs of other sizes from the examples. Numbers that were sorted, a permutation,
    offsets or lengths stay so; what else a module asks of integers is not known.
    """

    code = "OW899"
    title = "`verify` did not decide whether the model is right: {reason}"
    label = "verified here"
    help = (
        "give inputs that the module takes, of other sizes: `verify=[(x, y), ...]`, or "
        "`program.verify(args)` later"
    )
    severity = "warning"
    reason: str


class ObserversOn(Diagnostic):
    """Fake quantization still observes: its scales change with each call in PyTorch."""

    code = "OW848"
    title = "fake quantization still observes in {count}: the model keeps the current scales"
    label = "exported here"
    help = "turn them off first: `model.apply(torch.ao.quantization.disable_observer)`"
    severity = "warning"
    count: str


class PackedData(Diagnostic):
    """A function is called on the data of a packed sequence, whose size depends on values."""

    code = "OW849"
    title = "`{function}` on the data of a packed sequence cannot be exported"
    label = "called here"
    help = (
        "call it on the padded batch, behind `pad_packed_sequence`; packed data goes into "
        "recurrent modules and functions of each element"
    )
    error = ExportError
    function: str


class BufferReplaced(Diagnostic):
    """A module replaces a buffer by a tensor of another shape or element type while it runs."""

    code = "OW856"
    title = "the buffer `{buffer}` is {before} and is replaced by {after}"
    label = "replaced here"
    help = (
        "a model has one shape and element type for each buffer: register the buffer as it is "
        "after the call, keep the new tensor in a local variable, or take the old one as an input "
        "and return the new one"
    )
    error = ExportError
    buffer: str
    before: str
    after: str


class TextOfNumber(Diagnostic):
    """A program uses the text of a number that is known when the model runs only."""

    code = "OW885"
    title = (
        "the text of a tensor, a size, or a number that depends on values has no values in a "
        "capture: what this line does with it is wrong in the model"
    )
    label = "made here"
    help = (
        "decide by the number itself: `layers[n]` of a list or a `ModuleList`, "
        "`{{0: a, 1: b}}[n]`, `if n == 2:`"
    )
    severity = "warning"


class ResultIsNone(Diagnostic):
    """A result of the program is None for some values of a tensor."""

    code = "OW863"
    title = (
        "a result of the model is `None` by this decision: an ONNX model has to give a tensor, "
        "and raises an error there"
    )
    label = "decided by a value"
    help = (
        "give a tensor on both sides, such as an empty one, or a truth value that says whether "
        "there is a result"
    )
    severity = "warning"


class ErrorLeftOut(Diagnostic):
    """Python raises an error for some of the values that decisions left a variable."""

    kind: str

    code = "OW900"
    title = (
        "Python may raise `{kind}` here, by the values that a decision left: the model raises no "
        "error there, and its result means nothing"
    )
    label = "not possible for each of the values"
    help = "decide before this line, as in `if x is not None:`, so that each value has a result"
    severity = "warning"


class SidesOfTwoTypes(Diagnostic):
    """By a value, the sides of a decision or a list with or without items, a tensor has two types.

    `torch.tensor` of a list without items gives a tensor of the default type, float32.
    """

    code = "OW864"
    title = (
        "this gives a tensor of `{one}` for some values, and of `{other}` for others: the model "
        "has `{both}` for all, and computes with it from here on"
    )
    label = "the element type depends on a value"
    help = (
        "give tensors of one element type on both sides (`y.to(x.dtype)`), and name that of a "
        "list which may be empty: `torch.tensor(items, dtype=torch.int64)`"
    )
    severity = "warning"
    one: str
    other: str
    both: str


class SeededDraw(Diagnostic):
    """A model sets the seed of random numbers: ONNX draws others."""

    code = "OW860"
    title = (
        "random numbers after this seed are the same at every call in PyTorch; the model draws "
        "others, new ones in each call"
    )
    label = "the seed is set here"
    help = "draw the numbers once and keep them in a buffer, or take them as an input"
    severity = "warning"


class DrawsRandomNumbers(Diagnostic):
    """A model that is not in training mode draws random numbers in the code of a library."""

    code = "OW889"
    title = (
        "the model draws random numbers here (`{operator}`), in evaluation mode, too: each run "
        "gives other results, and PyTorch's numbers are others"
    )
    label = "drawn here"
    help = (
        "give the numbers as an input where the model takes them; `verify` compares only types "
        "and shapes of what is computed from them"
    )
    severity = "warning"
    operator: str


class ItemsOfRunTimeNumber(Diagnostic):
    """Python reads all items of an iterable whose number is known at run time only."""

    code = "OW857"
    title = "Python reads every item here, and how many there are is known at run time only"
    label = "read one by one here"
    help = (
        "a `for`, a comprehension over one iterable, `list`, `sum`, `max`, `min`, `any`, `all`, "
        "`sorted`, `zip`, `map` and `enumerate` take such items; `f(*items)`, `a, *b = items`, "
        "`dict(items)` and `itertools` do not"
    )
    error = ExportError


class IteratorUsedAgain(Diagnostic):
    """An iterator is used again, and how many of its items are left is known at run time only."""

    code = "OW858"
    title = (
        "this iterator was used before, and the value of a tensor decides how many of its items "
        "are left"
    )
    label = "used again here"
    help = (
        "make a new iterator for each loop, or iterate over a list, a `range` or the rows of a "
        "tensor, and count the items that were used"
    )
    error = ExportError
