"""Messages of the exporter (OW82x)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ExportError, ExportTypeError, ExportValueError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class CaptureFailed(Diagnostic):
    """PyTorch could not capture the model as a graph, with any of the ways that were tried."""

    code: ClassVar[str] = "OW821"
    title: ClassVar[str] = "PyTorch could not capture the model"
    label: ClassVar[str] = "here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportError
    hint: str


@dataclass(frozen=True, kw_only=True)
class NoLowering(Diagnostic):
    """Operators of the program that have no ONNX lowering; all of them are listed."""

    code: ClassVar[str] = "OW822"
    title: ClassVar[str] = "no ONNX lowering for {count}: {names}"
    label: ClassVar[str] = "{target}"
    help: ClassVar[str] = (
        "give a function for each: `def function({signature})` returns what `op` makes, and "
        "`custom_translation_table={{{first}: function}}` registers it"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    count: str
    names: str
    target: str
    first: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class LoweringFailed(Diagnostic):
    """A function of the library could not translate one node."""

    code: ClassVar[str] = "OW823"
    title: ClassVar[str] = "`{node}` ({target}) cannot be translated: {reason}"
    label: ClassVar[str] = "{target} comes from here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportError
    node: str
    target: str
    reason: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class WrongResult(Diagnostic):
    """A translated node has another element type or shape than PyTorch says."""

    code: ClassVar[str] = "OW824"
    title: ClassVar[str] = "`{node}` ({target}) gives {got}, PyTorch has {wanted}"
    label: ClassVar[str] = "{target} comes from here"
    help: ClassVar[str] = (
        "this is a bug in the function for {target}; replace it with `custom_translation_table`"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    node: str
    target: str
    got: str
    wanted: str


@dataclass(frozen=True, kw_only=True)
class BadExportArgument(Diagnostic):
    """An argument of `export` or of an exported program cannot be used."""

    code: ClassVar[str] = "OW825"
    title: ClassVar[str] = "`{name}`: {reason}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportValueError
    name: str
    reason: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class BadProgramInput(Diagnostic):
    """An exported program is called with inputs it does not take."""

    code: ClassVar[str] = "OW826"
    title: ClassVar[str] = "{reason}"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportTypeError
    reason: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class FixedDimension(Diagnostic):
    """A dimension declared dynamic has one size in the captured program."""

    code: ClassVar[str] = "OW827"
    title: ClassVar[str] = "{dimension} was declared dynamic, but the program fixes it to {size}"
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = (
        "the model is written with the constant; to keep it dynamic, find what depends on the "
        "size in the module (`TORCH_LOGS=+dynamic` shows it)"
    )
    severity: ClassVar[str] = "warning"
    dimension: str
    size: float | str


@dataclass(frozen=True, kw_only=True)
class DimensionNameInUse(Diagnostic):
    """One name is given to two dimensions that PyTorch does not know to be equal."""

    code: ClassVar[str] = "OW829"
    title: ClassVar[str] = (
        "{place} is named `{chosen}`: another dimension already has the name `{name}`"
    )
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = (
        "PyTorch does not see that the two are equal; write `torch.export.Dim({name!r})` in both "
        "places if they must be, or give two names"
    )
    severity: ClassVar[str] = "warning"
    name: str
    chosen: str
    place: str


@dataclass(frozen=True, kw_only=True)
class VerifyFailed(Diagnostic):
    """The exported model does not compute what PyTorch computes."""

    code: ClassVar[str] = "OW828"
    title: ClassVar[str] = "exported model does not match PyTorch: {summary}"
    label: ClassVar[str] = "verified here"
    help: ClassVar[str] = (
        "export without `verify`: `program.first_divergence(args)` then finds the first node that "
        "differs, and `program.verify(args, rtol=..., atol=...)` takes other tolerances"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    summary: str


@dataclass(frozen=True, kw_only=True)
class DraftAssumes(Diagnostic):
    """The program was captured as a draft: it is right only while what it assumes holds."""

    code: ClassVar[str] = "OW830"
    title: ClassVar[str] = "the draft assumes {count} of the program"
    label: ClassVar[str] = "assumed here"
    help: ClassVar[str] = (
        "the model does not check it; write the program so that `capture='auto'` takes it, and a "
        "draft is no longer needed"
    )
    severity: ClassVar[str] = "warning"
    count: str


@dataclass(frozen=True, kw_only=True)
class NoKernel(Diagnostic):
    """A model that was exported for any runtime is run in one without a kernel it needs."""

    code: ClassVar[str] = "OW831"
    title: ClassVar[str] = "ONNX Runtime has no kernel for {operator} of {types} (node `{node}`)"
    label: ClassVar[str] = "run here"
    help: ClassVar[str] = (
        "the model was exported with `target='any'`: export with `target='onnxruntime-cpu'`, or "
        "save it and run it where there is one"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    operator: str
    types: str
    node: str


@dataclass(frozen=True, kw_only=True)
class TrainingMode(Diagnostic):
    """A model is exported in training mode, and computes something else than in evaluation mode."""

    code: ClassVar[str] = "OW832"
    title: ClassVar[str] = "the model is exported in training mode: `{module}` depends on it"
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = (
        "call `model.eval()` before the export, unless the model has to behave as in training"
    )
    severity: ClassVar[str] = "warning"
    module: str


@dataclass(frozen=True, kw_only=True)
class SizeAssumed(Diagnostic):
    """The model is right for some sizes only: the module decides by a size in Python."""

    code: ClassVar[str] = "OW833"
    title: ClassVar[str] = "the model is only right where `{guard}`: one side of this was captured"
    label: ClassVar[str] = "decided by a size here"
    help: ClassVar[str] = (
        "`program(...)` rejects other sizes, other runtimes do not; `size_branches=True` exports "
        "both sides as an `If`, `Dim(..., min=, max=)` declares the sizes that are needed"
    )
    severity: ClassVar[str] = "warning"
    guard: str


@dataclass(frozen=True, kw_only=True)
class SizeRefused(Diagnostic):
    """With `strict=True`, a model that is right for some of the declared sizes only."""

    code: ClassVar[str] = "OW834"
    title: ClassVar[str] = "the model would only be right where `{guard}`"
    label: ClassVar[str] = "decided by a size here"
    help: ClassVar[str] = (
        "`size_branches=True` exports both sides as an `If`; `Dim(..., min=, max=)` declares the "
        "sizes that are needed; without `strict` this is a warning"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    guard: str


@dataclass(frozen=True, kw_only=True)
class SizeBranchesDiffer(Diagnostic):
    """`size_branches=True` cannot join the two sides of a decision in one `If`."""

    code: ClassVar[str] = "OW835"
    title: ClassVar[str] = "the two sides of `{guard}` cannot be joined: {reason}"
    label: ClassVar[str] = "decided by a size here"
    help: ClassVar[str] = "{hint}"
    error: ClassVar[type[OnnxwrightError]] = ExportError
    guard: str
    reason: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class SlidingCache(Diagnostic):
    """The model counts positions from a sliding-window cache, which drops tokens."""

    code: ClassVar[str] = "OW836"
    title: ClassVar[str] = (
        "positions are counted from a sliding-window cache: the model is only right while all "
        "tokens are kept, up to {kept}"
    )
    label: ClassVar[str] = "exported here"
    help: ClassVar[str] = (
        "export with `position_ids` among the inputs, and give them in each call; without, "
        "`program(...)` rejects longer pasts, other runtimes do not"
    )
    severity: ClassVar[str] = "warning"
    kept: int


@dataclass(frozen=True, kw_only=True)
class StateInPython(Diagnostic):
    """Running the module changes what the next call reads: an attribute, an item, a variable."""

    code: ClassVar[str] = "OW839"
    title: ClassVar[str] = (
        "running the module changes `{name}` from {before} to {after}: the model computes every "
        "call as the one that was captured"
    )
    label: ClassVar[str] = "changed here"
    help: ClassVar[str] = (
        "keep what must be counted in a buffer (`register_buffer`) and change it in place: "
        "`self.count.add_(1)`; its new value is a further output of the model"
    )
    severity: ClassVar[str] = "warning"
    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class SidesDiffer(Diagnostic):
    """The branches of a decision by a tensor give values that one model value cannot hold."""

    code: ClassVar[str] = "OW840"
    title: ClassVar[str] = (
        "this decision depends on a tensor, and `{name}` is {left} on one side, {right} on the "
        "other"
    )
    label: ClassVar[str] = "decided by a value"
    help: ClassVar[str] = (
        "give it a tensor with the same number of axes, or a number, on both sides{answer}"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    name: str
    left: str
    right: str

    @property
    def answer(self) -> str:
        """An answer to the decision; none where a note has that of the example inputs."""
        known = f", or fix the decision for all values: `assume={{{_line(self.span)!r}: True}}`"
        return " of the decision" if self.notes else known

    def facts(self) -> dict[str, object]:
        """The fields, and an answer."""
        return {**super().facts(), "answer": self.answer}


@dataclass(frozen=True, kw_only=True)
class LoopChanges(Diagnostic):
    """A value that a loop carries has another type or number of axes after an iteration."""

    code: ClassVar[str] = "OW841"
    title: ClassVar[str] = (
        "this loop ends on the value of a tensor, and `{name}` is {before} before an iteration, "
        "{after} after it"
    )
    label: ClassVar[str] = "the number of iterations is known at run time"
    help: ClassVar[str] = (
        "what goes from one iteration to the next keeps its type and number of axes: collect "
        "results in a list with `append`, or iterate a known number of times and leave with `break`"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class NotRewritten(Diagnostic):
    """Python decides by a tensor's value in a form that is not rewritten."""

    code: ClassVar[str] = "OW842"
    title: ClassVar[str] = "Python decides by a tensor's value in {reason}, which is not rewritten"
    label: ClassVar[str] = "here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ExportError
    reason: str
    advice: str = (
        "decide in a plain function whose source can be read, or with `torch.where` or `torch.cond`"
    )


@dataclass(frozen=True, kw_only=True)
class CaughtError(Diagnostic):
    """An error is raised for some values of a tensor, and the model catches it."""

    code: ClassVar[str] = "OW862"
    title: ClassVar[str] = (
        "a tensor decides whether `{kind}` is raised, and `except` in line {line} catches it"
    )
    label: ClassVar[str] = "decided by a value"
    help: ClassVar[str] = (
        "compute what `except` does on a side of an `if`; a check whose error leaves the model is "
        "left out of the export"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    kind: str
    line: int


@dataclass(frozen=True, kw_only=True)
class SharedWrite(Diagnostic):
    """A side of a decision writes to a tensor that it also reads through another view."""

    code: ClassVar[str] = "OW843"
    title: ClassVar[str] = (
        "this decision depends on a tensor, and one side writes to a tensor that it also reads "
        "through another view"
    )
    label: ClassVar[str] = "decided by a value"
    help: ClassVar[str] = "write to a copy: `x = x.clone()` before, or `x = x + 1` for `x += 1`"
    error: ClassVar[type[OnnxwrightError]] = ExportError


@dataclass(frozen=True, kw_only=True)
class TooManyCopies(Diagnostic):
    """What follows several decisions would have more copies than the limit allows."""

    code: ClassVar[str] = "OW894"
    title: ClassVar[str] = (
        "`{name}` is {left} on one side of this decision, {right} on the other, and what follows "
        "has {copies} copies already"
    )
    label: ClassVar[str] = "this decision would double them"
    help: ClassVar[str] = (
        "what follows has a copy for each side, as the variable has values of two kinds: give it "
        "the same number of axes on both sides, or use it up on each side and go on with a tensor "
        "of one kind"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    name: str
    left: str
    right: str
    copies: int


@dataclass(frozen=True, kw_only=True)
class ListOfRunTimeLength(Diagnostic):
    """A list that grew in a loop of a run-time length is used as only a Python list can be."""

    code: ClassVar[str] = "OW844"
    title: ClassVar[str] = (
        "a list that grows in a loop with a run-time number of iterations is used by `{use}`"
    )
    label: ClassVar[str] = "the items of the list are known at run time only"
    help: ClassVar[str] = (
        "use the list by the name that it was made with, by `append`, `pop`, `[n]`, `torch.stack`, "
        "`torch.cat`, `len` or a loop over it"
    )
    error: ClassVar[type[OnnxwrightError]] = ExportError
    use: str


def _line(span: Span | None) -> str:
    """A line as `file:line`."""
    return f"{Path(span.file).name}:{span.line}" if span is not None else "file.py:1"


@dataclass(frozen=True, kw_only=True)
class ObservedDiffer(Diagnostic):
    """Calls that were observed differ in more than sizes, so that one export cannot serve all."""

    code: ClassVar[str] = "OW897"
    title: ClassVar[str] = "{what}"
    label: ClassVar[str] = "proposed here"
    help: ClassVar[str] = "{advice}"
    severity: ClassVar[str] = "warning"
    what: str
    advice: str
