"""What stops a capture: what the store cannot see or take back, and what cannot be rewritten."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.catalogue import export_changes, export_forms
from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.session.program_lists import is_rows, kind_of


class CaptureStoppedError(RuntimeError):
    """What stops a capture; no error of the program that is captured."""


def stops_capture(error: BaseException) -> bool:
    """Whether an error says that something cannot be captured, not that the program failed."""
    return isinstance(error, (CaptureStoppedError, GuardOnDataDependentSymNode))


class UnseenChangeError(CaptureStoppedError):
    """Something may change what a side of a decision, or the next call, reads.

    Args:
        text: what it is.
        kind: the class of the object.
        name: what the user calls it; empty where that is not known.
    """

    def __init__(self, text: str, kind: str, name: str = "") -> None:
        super().__init__(text)
        self.kind, self.name = kind, name


class NotTakenBackError(UnseenChangeError):
    """The program changes, or asks for, a state that nothing reads and puts back.

    Args:
        does: what the program does.
        kind: the class of the object.
    """

    def __init__(self, does: str, kind: str) -> None:
        super().__init__(f"the program {does}", kind)
        self.does = does


class IteratorTakenError(NotTakenBackError):
    """An iterator of before the capture is used up."""

    def __init__(self, kind: str) -> None:
        which = f"a {kind} that was made before the export, which would use it up"
        super().__init__(f"takes items of {which}", kind)


class OtherMemoryError(CaptureStoppedError):
    """A tensor is given the memory of another one, `x.data = y`, which no operator does."""

    def __init__(self) -> None:
        super().__init__("`.data` of a tensor is set")


class ArrayMemoryError(CaptureStoppedError):
    """A tensor has the memory of an array of numpy, and one of them is written to.

    Args:
        does: what the line does.
    """

    def __init__(self, does: str) -> None:
        super().__init__(f"the program {does}, and both have one memory")
        self.does = does


class OpaqueCallError(UnseenChangeError):
    """A function that cannot be converted is given an object that it may change.

    Args:
        name: of the function.
        kind: the class of the object.
    """

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"`{name}` may change an object of type `{kind}`", kind, name)


# -- captures by source: each has a message of its own with the line of the decision ---------------


class RefusedError(CaptureStoppedError):
    """Something that cannot be captured by source.

    Args:
        text: what it is.
        span: the line of the decision; None where it is not known yet.
    """

    # What is decided, where it is a comparison of sizes.
    condition: Any = None
    # The file and line of the decision, where the error comes from what it left.
    decision: tuple[str, int] | None = None
    # The message for the user, and its fields: as the attributes of the error are called.
    shown: type[Diagnostic]
    fields: tuple[str, ...] = ()

    def __init__(self, text: str, span: Span | None = None) -> None:
        super().__init__(text)
        self.span = span

    def message(self) -> Diagnostic:
        """The message for the user."""
        return self.shown(**{name: getattr(self, name) for name in self.fields}, span=self.span)


class CannotRewriteError(RefusedError):
    """A function that decides by values has a form that is not rewritten.

    Args:
        reason: the form.
        span: its place; None where there is none.
        advice: what to write in its place; None for what is said of any form.
    """

    def __init__(self, reason: str, span: Span | None = None, advice: str | None = None) -> None:
        super().__init__(f"{reason} cannot be rewritten", span)
        self.reason, self.advice = reason, advice

    def message(self) -> Diagnostic:
        """The message for the user."""
        if self.advice is None:
            return messages.NotRewritten(reason=self.reason, span=self.span)
        return messages.NotRewritten(reason=self.reason, advice=self.advice, span=self.span)


class GeneratorError(CannotRewriteError):
    """A generator decides by values, or goes over a dynamic size.

    Args:
        span: its place.
    """

    def __init__(self, span: Span | None) -> None:
        advice = "give a list: `items.append(x)` in place of `yield x`, and `return items`"
        super().__init__("a generator", span, advice)


class NumberReadError(CannotRewriteError):
    """Python itself asks for a number that is known at run time only.

    Args:
        span: the line.
    """

    def __init__(self, span: Span | None) -> None:
        super().__init__(
            "a number that is known at run time only, and that Python asks for in this line,",
            span,
            "operators, `int`, `float`, `round`, `min`, `max`, `math` and functions of PyTorch "
            "compute with such a number; `range(n)`, `items[n]` and `x[:n]` take it; in the place "
            "of `__eq__`, `__bool__` and the like, which Python calls, call a method by its name",
        )


class PartChosenError(CannotRewriteError):
    """A module gets one of several modules as a part.

    Args:
        span: the line.
    """

    def __init__(self, span: Span | None) -> None:
        super().__init__(
            "a part of a module that a value chooses",
            span,
            "keep the number of the one that is used, `self.n = 1`, and call "
            "`self.layers[self.n]`; within one call, a variable may be one of several modules",
        )


class TextUsedError(CannotRewriteError):
    """A text of a value that is known at run time only is compared, looked up or taken apart.

    Args:
        span: the line.
    """

    def __init__(self, span: Span | None = None) -> None:
        super().__init__(
            "a text of a number or a tensor that is known at run time only",
            span,
            "choose by the number itself: `layers[n]` of a `ModuleList` or a list, "
            "`{0: a, 1: b}[n]`, `if n == 2:`; ask a tensor by functions: `x.isnan().any()`",
        )


class DisagreementError(RefusedError):
    """Two sides have values that no tensor can stand for.

    Args:
        path: what the user calls the value.
        left, right: what it is on each side, as words.
    """

    shown = messages.SidesDiffer
    fields = ("name", "left", "right")

    def __init__(self, path: str, left: str, right: str) -> None:
        path = said(path)
        super().__init__(f"`{path}` is {left} on one side and {right} on the other")
        self.name, self.left, self.right = path, left, _told_apart(left, right)
        # A list that grows on one side, and an item that is added there, or a list of such items.
        self.grows: tuple[list[Any], Any] | None = None


class LoopChangeError(RefusedError):
    """What a loop carries is not the same kind of value after an iteration.

    Args:
        path: what the user calls the value.
        before, after: what it is, as words.
    """

    shown = messages.LoopChanges
    fields = ("name", "before", "after")

    def __init__(self, path: str, before: str, after: str) -> None:
        path = said(path)
        super().__init__(f"`{path}` is {before} before an iteration, {after} after it")
        self.name, self.before, self.after = path, before, _told_apart(before, after)


class UnevenItemError(LoopChangeError):
    """An item that a loop adds to a list has another size than those before it.

    Args:
        before, after: descriptions of the items.
        items: the list.
        dims: the axes that have another size.
    """

    def __init__(self, before: str, after: str, items: Any, dims: list[int]) -> None:
        super().__init__("an item of the list", before, after)
        self.items, self.dims = items, dims


class ListUseError(RefusedError):
    """A list that grew in a loop of a run-time length is used as only a list of Python can be.

    Args:
        use: the method or function.
    """

    # The list, where a loop would have to carry it (`building_rows.LoopList`).
    loop_list: Any = None

    shown = messages.ListOfRunTimeLength
    fields = ("use",)

    def __init__(self, use: str) -> None:
        super().__init__(f"a list of a run-time length is used by `{use}`")
        self.use = use


class ItemsReadError(RefusedError):
    """Python reads all items of an iterable whose number is known at run time only."""

    shown = export_forms.ItemsOfRunTimeNumber

    def __init__(self, span: Span | None = None) -> None:
        super().__init__("items whose number is known at run time only are read one by one", span)


class UsedAgainError(RefusedError):
    """An iterator is used again, and nobody knows how many of its items are left."""

    shown = export_forms.IteratorUsedAgain

    def __init__(self) -> None:
        super().__init__("an iterator is used again after a loop that a tensor may have ended")


class CaughtError(RefusedError):
    """An error is raised for some values of a tensor, and the model catches it.

    Args:
        kind: the name of its class.
        line: of the `except`.
    """

    shown = messages.CaughtError
    fields = ("kind", "line")

    def __init__(self, kind: str, line: int) -> None:
        super().__init__(f"`{kind}` is raised for some values, and caught in line {line}")
        self.kind, self.line = kind, line


class ChangedInPlaceError(RefusedError):
    """One side changes an object in place that the other side has as well.

    Args:
        kind: the name of its class.
        name: what the user calls it; empty where that is not known.
    """

    shown = export_changes.ChangedOnOneSide
    fields = ("changed",)

    def __init__(self, kind: str, name: str = "") -> None:
        self.changed = (
            f"`{name}`, an object of type `{kind}`," if name else (f"an object of type `{kind}`")
        )
        super().__init__(f"{self.changed} is changed in place")


class MayChangeError(RefusedError):
    """One side calls a function that cannot be read, and that may change what it is given.

    Args:
        name: of the function.
        kind: the class of what it is given.
    """

    shown = export_changes.MayChange
    fields = ("name", "kind")

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"`{name}` may change an object of type `{kind}`")
        self.name, self.kind = name, kind


class ChosenChangedError(RefusedError):
    """An object that a decision chose, or one that it was chosen from, is changed afterwards.

    Args:
        kind: the name of its class.
        in_loop: whether the iterations of a loop chose it.
        is_item: whether it is an item of a list of run-time length.
    """

    def __init__(self, kind: str, *, in_loop: bool = False, is_item: bool = False) -> None:
        super().__init__(f"an object of type `{kind}` that a decision chose is changed in place")
        self.kind, self.in_loop, self.is_item = kind, in_loop, is_item
        # The file and line of the decision, where the span is that of the change.
        self.chosen_at: tuple[str, int] | None = None

    def message(self) -> Diagnostic:
        """The message for the user."""
        file, line = self.chosen_at or ("", 0)
        return export_changes.ChosenChanged(
            kind=self.kind, in_loop=self.in_loop, is_item=self.is_item,
            chosen_at=f"{Path(file).name}:{line}", span=self.span,
        )  # fmt: skip


class SharedWriteError(RefusedError):
    """A branch writes to one of two tensors that share memory; no view leads to the other."""

    shown = messages.SharedWrite

    def __init__(self) -> None:
        super().__init__("a tensor is written to in place that shares memory with another one")


def said(path: str) -> str:
    """What a message calls a part of a variable.

    Args:
        path: with the variables of the passes for `return`, and the numbers of candidates.

    Example:
        >>> said("_ow_result[0]"), said("layer as candidate 3.bias")
        ('the result[0]', 'layer.bias')
    """
    path = re.sub(r"^_ow_(result|(value|given)\d*)\b", "the result", path)
    return re.sub(r" as (candidate \d+|one of several values)", "", path)


def _told_apart(one: str, two: str) -> str:
    """The second of two descriptions, with what differs where they are equal: the objects."""
    return two if one != two else f"another object ({two})"


def words(value: Any) -> str:
    """What a message calls a value."""
    if value is None:
        return "`None`"
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"a tensor of {kind}{[str(n) for n in value.shape]}".replace("'", "")
    if is_rows(value):
        return "a list of a run-time length"
    if isinstance(value, (list, tuple, dict)):
        return f"a {kind_of(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) < 40 else f"an object of type {type(value).__name__}"
