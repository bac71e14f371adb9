"""Messages of the exporter (OW82x)."""

from __future__ import annotations

from pathlib import Path

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic, Hinted
from onnxwright.diagnostics.span import Span
from onnxwright.errors import ExportError, ExportTypeError, ExportValueError


class CaptureFailed(Hinted):
    """PyTorch could not capture the model as a graph, with any of the ways that were tried."""

    code = "OW821"
    title = "PyTorch could not capture the model"
    label = "here"
    error = ExportError


class NoLowering(Diagnostic):
    """Operators of the program that have no ONNX lowering; all of them are listed."""

    code = "OW822"
    title = "no ONNX lowering for {count}: {names}"
    label = "{target}"
    help = (
        "give a function for each: `def function({signature})` returns what `op` makes, and "
        "`custom_translation_table={{{first}: function}}` registers it"
    )
    error = ExportError
    count: str
    names: str
    target: str
    first: str
    signature: str


class LoweringFailed(Hinted):
    """A function of the library could not translate one node."""

    code = "OW823"
    title = "`{node}` ({target}) cannot be translated: {reason}"
    label = "{target} comes from here"
    error = ExportError
    node: str
    target: str
    reason: str


class WrongResult(Diagnostic):
    """A translated node has another element type or shape than PyTorch says."""

    code = "OW824"
    title = "`{node}` ({target}) gives {got}, PyTorch has {expected}"
    label = "{target} comes from here"
    help = "this is a bug in the function for {target}; replace it with `custom_translation_table`"
    error = ExportError
    node: str
    target: str
    got: str
    expected: str


class BadExportArgument(Hinted):
    """An argument of `export` or of an exported program cannot be used."""

    code = "OW825"
    title = "`{name}`: {reason}"
    label = "given here"
    error = ExportValueError
    name: str
    reason: str


class BadProgramInput(Hinted):
    """An exported program is called with inputs it does not take."""

    code = "OW826"
    title = "{reason}"
    label = "called here"
    error = ExportTypeError
    reason: str


class FixedDimension(Diagnostic):
    """A dimension declared dynamic has one size in the captured program."""

    code = "OW827"
    title = "{dimension} was declared dynamic, but the program fixes it to {size}"
    label = "exported here"
    help = (
        "the model is written with the constant; to keep it dynamic, find what depends on the "
        "size in the module (`TORCH_LOGS=+dynamic` shows it)"
    )
    severity = "warning"
    dimension: str
    size: float | str


class DimensionNameInUse(Diagnostic):
    """One name is given to two dimensions that PyTorch does not know to be equal."""

    code = "OW829"
    title = "{place} is named `{chosen}`: another dimension already has the name `{name}`"
    label = "exported here"
    help = (
        "PyTorch does not see that the two are equal; write `torch.export.Dim({name!r})` in both "
        "places if they must be, or give two names"
    )
    severity = "warning"
    name: str
    chosen: str
    place: str


class VerifyFailed(Diagnostic):
    """The exported model does not compute what PyTorch computes."""

    code = "OW828"
    title = "exported model does not match PyTorch: {summary}"
    label = "verified here"
    help = (
        "export without `verify`: `program.first_divergence(args)` then finds the first node that "
        "differs, and `program.verify(args, rtol=..., atol=...)` takes other tolerances"
    )
    error = ExportError
    summary: str


class DraftAssumes(Diagnostic):
    """The program was captured as a draft: it is right only while what it assumes holds."""

    code = "OW830"
    title = "the draft assumes {count} of the program"
    label = "assumed here"
    help = (
        "the model does not check it; write the program so that `capture='auto'` takes it, and a "
        "draft is no longer needed"
    )
    severity = "warning"
    count: str


class NoKernel(Diagnostic):
    """A model that was exported for any runtime is run in one without a kernel it needs."""

    code = "OW831"
    title = "ONNX Runtime has no kernel for {operator} of {types} (node `{node}`)"
    label = "run here"
    help = (
        "the model was exported with `target='any'`: export with `target='onnxruntime-cpu'`, or "
        "save it and run it where there is one"
    )
    error = ExportError
    operator: str
    types: str
    node: str


class TrainingMode(Diagnostic):
    """A model is exported in training mode, and computes something else than in evaluation mode."""

    code = "OW832"
    title = "the model is exported in training mode: `{module}` depends on it"
    label = "exported here"
    help = "call `model.eval()` before the export, unless the model has to behave as in training"
    severity = "warning"
    module: str


class SizeAssumed(Diagnostic):
    """The model is right for some sizes only: the module decides by a size in Python."""

    code = "OW833"
    title = "the model is only right where `{guard}`: one side of this was captured"
    label = "decided by a size here"
    help = (
        "`program(...)` rejects other sizes, other runtimes do not; where both sides give results "
        "of one rank and type, both are exported as an `If`; `Dim(..., min=, max=)` declares the "
        "sizes that are needed"
    )
    severity = "warning"
    guard: str


class SizeRefused(Diagnostic):
    """With `strict=True`, a model that is right for some of the declared sizes only."""

    code = "OW834"
    title = "the model would only be right where `{guard}`"
    label = "decided by a size here"
    help = (
        "where both sides give results of one rank and type, both are exported as an `If`; "
        "`Dim(..., min=, max=)` declares the sizes that are needed; without `strict` this is a "
        "warning"
    )
    error = ExportError
    guard: str


class SlidingCache(Diagnostic):
    """The model counts positions from a sliding-window cache, which drops tokens."""

    code = "OW836"
    title = (
        "positions are counted from a sliding-window cache: the model is only right while all "
        "tokens are kept, up to {kept}"
    )
    label = "exported here"
    help = (
        "export with `position_ids` among the inputs, and give them in each call; without, "
        "`program(...)` rejects longer pasts, other runtimes do not"
    )
    severity = "warning"
    kept: int


class StateInPython(Diagnostic):
    """Running the module changes what the next call reads: an attribute, an item, a variable."""

    code = "OW839"
    title = (
        "running the module changes `{name}` from {before} to {after}: the model computes every "
        "call as the one that was captured"
    )
    label = "changed here"
    help = (
        "keep what must be counted in a buffer (`register_buffer`) and change it in place: "
        "`self.count.add_(1)`; its new value is a further output of the model"
    )
    severity = "warning"
    name: str
    before: str
    after: str


class SidesDiffer(Diagnostic):
    """The branches of a decision by a tensor give values that one model value cannot hold."""

    code = "OW840"
    title = (
        "this decision depends on a tensor, and `{name}` is {left} on one side, {right} on the "
        "other"
    )
    label = "decided by a value"
    help = "give it a tensor with the same number of axes, or a number, on both sides{answer}"
    error = ExportError
    name: str
    left: str
    right: str

    @property
    def answer(self) -> str:
        """An answer to the decision."""
        return f", or fix the decision for all values: `assume={{{_line(self.span)!r}: True}}`"

    def facts(self) -> dict[str, object]:
        """The fields, and an answer."""
        return {**super().facts(), "answer": self.answer}


class LoopChanges(Diagnostic):
    """A value that a loop carries has another type or number of axes after an iteration."""

    code = "OW841"
    title = (
        "this loop ends on the value of a tensor, and `{name}` is {before} before an iteration, "
        "{after} after it"
    )
    label = "the number of iterations is known at run time"
    help = (
        "what goes from one iteration to the next keeps its type and number of axes: collect "
        "results in a list with `append`, or iterate a known number of times and leave with `break`"
    )
    error = ExportError
    name: str
    before: str
    after: str


class NotRewritten(Advised):
    """A form of Python cannot be captured where a tensor's value or a dynamic size decides."""

    code = "OW842"
    title = "{reason} cannot be captured where a tensor's value or a dynamic size decides"
    label = "here"
    error = ExportError
    reason: str
    advice: str = (
        "decide in a plain function whose source can be read, or with `torch.where` or `torch.cond`"
    )


class CaughtError(Diagnostic):
    """An error is raised for some values of a tensor, and the model catches it."""

    code = "OW862"
    title = "a tensor decides whether `{kind}` is raised, and line {line} of the model catches it"
    label = "decided by a value"
    help = (
        "compute what `except` does on a side of an `if`; a check whose error leaves the model is "
        "left out of the export"
    )
    error = ExportError
    kind: str
    line: int


class SharedWrite(Diagnostic):
    """A model writes to one of two of its tensors that share memory."""

    code = "OW843"
    title = "{what} writes to one of two tensors of the model that share memory"
    label = "{marked}"
    help = (
        "take the view where it is needed, `part = self.whole[1:]`, or write to a copy: "
        "`x = x.clone()` before, or `x = x + 1` for `x += 1`"
    )
    error = ExportError
    what: str = "this decision depends on a tensor, and"
    marked: str = "decided by a value"


class ListOfRunTimeLength(Diagnostic):
    """A list that grew in a loop of a run-time length is used as only a Python list can be."""

    code = "OW844"
    title = "a list that grows in a loop with a run-time number of iterations is used by `{use}`"
    label = "the items of the list are known at run time only"
    help = (
        "use the list by `append`, `pop`, `[n]`, `torch.stack`, `torch.cat`, `len` "
        "or a loop over it"
    )
    error = ExportError
    use: str


def _line(span: Span | None) -> str:
    """A line as `file:line`."""
    return f"{Path(span.file).name}:{span.line}" if span is not None else "file.py:1"


class ObservedDiffer(Advised):
    """Calls that were observed differ in more than sizes, so that one export cannot serve all."""

    code = "OW897"
    title = "{what}"
    label = "proposed here"
    severity = "warning"
    what: str
