"""Messages of the exporter about what ONNX does not have: forms of tensors, seeds (OW847 on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ExportError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class SparseDensified(Diagnostic):
    """A sparse parameter, buffer or constant is stored with all its elements."""

    code: ClassVar[str] = "OW837"
    title: ClassVar[str] = (
        "`{name}` is sparse ({layout}): the model holds all its elements, {dense} in place of "
        "{sparse}"
    )
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = (
        "ONNX's operators take dense tensors; `to_dense()` in the module does the same without "
        "this warning"
    )
    severity: ClassVar[str] = "warning"
    name: str
    layout: str
    dense: str
    sparse: str


@dataclass(frozen=True, kw_only=True)
class SparseTensor(Diagnostic):
    """A sparse input or result, or a sparse weight that PyTorch cannot capture the use of."""

    code: ClassVar[str] = "OW838"
    title: ClassVar[str] = "{what} is sparse ({layout}), and the values of a model are dense"
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportError
    what: str
    layout: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class QuantizedResult(Diagnostic):
    """An input or output of the model is a quantized tensor; ONNX has no such values."""

    code: ClassVar[str] = "OW847"
    title: ClassVar[str] = "{what} of the model is a quantized tensor"
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportError
    what: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class NotDecided(Diagnostic):
    """Only made-up inputs show a difference, or PyTorch does not take those that were tried.

    `verify` makes inputs of other sizes from the examples. Numbers that were sorted, a permutation,
    offsets or lengths stay so; what else a module asks of integers is not known.
    """

    code: ClassVar[str] = "OW899"
    title: ClassVar[str] = "`verify` did not decide whether the model is right: {reason}"
    label: ClassVar[str] = "verified here"
    help: ClassVar[str] = (
        "give inputs that the module takes, of other sizes: `verify=[(x, y), ...]`, or "
        "`program.verify(args)` later"
    )
    severity: ClassVar[str] = "warning"
    reason: str


@dataclass(frozen=True, kw_only=True)
class ObserversOn(Diagnostic):
    """Fake quantization still observes: its scales change with each call in PyTorch."""

    code: ClassVar[str] = "OW848"
    title: ClassVar[str] = (
        "fake quantization still observes in {count}: the model keeps the current scales"
    )
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = (
        "turn them off first: `model.apply(torch.ao.quantization.disable_observer)`"
    )
    severity: ClassVar[str] = "warning"
    count: str


@dataclass(frozen=True, kw_only=True)
class PackedData(Diagnostic):
    """A function is called on the data of a packed sequence, whose size depends on values."""

    code: ClassVar[str] = "OW849"
    title: ClassVar[str] = "`{function}` on the data of a packed sequence cannot be exported"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = (
        "call it on the padded batch, behind `pad_packed_sequence`; packed data goes into "
        "recurrent modules and functions of each element"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    function: str


@dataclass(frozen=True, kw_only=True)
class BufferReplaced(Diagnostic):
    """A module replaces a buffer by a tensor of another shape or element type while it runs."""

    code: ClassVar[str] = "OW856"
    title: ClassVar[str] = "the buffer `{buffer}` is {before} and is replaced by {after}"
    label: ClassVar[str] = "replaced here"
    help: ClassVar[str] = (
        "a model has one shape and element type for each buffer: register the buffer as it is "
        "after the call, keep the new tensor in a local variable, or take the old one as an input "
        "and return the new one"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    buffer: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class TextOfNumber(Diagnostic):
    """A program uses the text of a number that is known when the model runs only."""

    code: ClassVar[str] = "OW885"
    title: ClassVar[str] = (
        "the text of a size, or of a number that depends on values, is the name of a symbol in a "
        "capture: what this line does with it is wrong in the model"
    )
    label: ClassVar[str] = "made here"
    help: ClassVar[str] = (
        "decide by the number itself: `layers[n]` of a list or a `ModuleList`, `{{0: a, 1: b}}[n]`, "
        "`if n == 2:`"
    )
    severity: ClassVar[str] = "warning"


@dataclass(frozen=True, kw_only=True)
class ResultIsNone(Diagnostic):
    """A result of the program is None for some values of a tensor."""

    code: ClassVar[str] = "OW863"
    title: ClassVar[str] = (
        "a result of the model is `None` by this decision: an ONNX model has to give a tensor, "
        "and raises an error there"
    )
    label: ClassVar[str] = "decided by a value"
    help: ClassVar[str] = (
        "give a tensor on both sides, such as an empty one, or a truth value that says whether "
        "there is a result"
    )
    severity: ClassVar[str] = "warning"


@dataclass(frozen=True, kw_only=True)
class SidesOfTwoTypes(Diagnostic):
    """The sides of a decision by a value give tensors of two element types."""

    code: ClassVar[str] = "OW864"
    title: ClassVar[str] = (
        "one side of this decision gives a tensor of `{one}`, the other of `{other}`: the model "
        "has `{both}` for both, and computes with it from here on"
    )
    label: ClassVar[str] = "decided by a value"
    help: ClassVar[str] = (
        "give tensors of one element type on both sides (`y.to(x.dtype)`); an element type itself "
        "has to be chosen before the export"
    )
    severity: ClassVar[str] = "warning"
    one: str
    other: str
    both: str


@dataclass(frozen=True, kw_only=True)
class SeededDraw(Diagnostic):
    """A model sets the seed and draws random numbers of which ONNX draws others."""

    code: ClassVar[str] = "OW860"
    title: ClassVar[str] = (
        "these random numbers are the same at every call in PyTorch; the model draws others"
    )
    label: ClassVar[str] = "drawn after `torch.manual_seed`"
    help: ClassVar[str] = (
        "numbers of a fixed size that `torch.rand`, `randn`, `randint` or `randperm` draw are "
        "constants of the model; draw these once, and keep them in a buffer"
    )
    severity: ClassVar[str] = "warning"


@dataclass(frozen=True, kw_only=True)
class DrawsRandomNumbers(Diagnostic):
    """A model that is not in training mode draws random numbers in the code of a library."""

    code: ClassVar[str] = "OW889"
    title: ClassVar[str] = (
        "the model draws random numbers here (`{operator}`), in evaluation mode, too: each run "
        "gives other results, and PyTorch's numbers are others"
    )
    label: ClassVar[str] = "drawn here"
    help: ClassVar[str] = (
        "give the numbers as an input where the model takes them, or call `torch.manual_seed` in "
        "`forward`, which makes them constants; `verify` compares only types and shapes of what is "
        "computed from them"
    )
    severity: ClassVar[str] = "warning"
    operator: str


@dataclass(frozen=True, kw_only=True)
class ItemsOfRunTimeNumber(Diagnostic):
    """Python reads all items of an iterable whose number is known at run time only."""

    code: ClassVar[str] = "OW857"
    title: ClassVar[str] = (
        "Python reads every item here, and how many there are is known at run time only"
    )
    label: ClassVar[str] = "read one by one here"
    help: ClassVar[str] = (
        "a `for`, a comprehension over one iterable, `list`, `sum`, `max`, `min`, `any`, `all`, "
        "`sorted`, `zip`, `map` and `enumerate` take such items; `f(*items)`, `a, *b = items`, "
        "`dict(items)` and `itertools` do not"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError


@dataclass(frozen=True, kw_only=True)
class IteratorUsedAgain(Diagnostic):
    """An iterator is used again, and how many of its items are left is known at run time only."""

    code: ClassVar[str] = "OW858"
    title: ClassVar[str] = (
        "this iterator was used before, and the value of a tensor decides how many of its items "
        "are left"
    )
    label: ClassVar[str] = "used again here"
    help: ClassVar[str] = (
        "make a new iterator for each loop, or iterate over a list, a `range` or the rows of a "
        "tensor, and count the items that were used"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
