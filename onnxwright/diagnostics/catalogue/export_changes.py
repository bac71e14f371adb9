"""Messages of the exporter about objects of Python that a program changes in place."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ExportError


class ChosenChanged(Diagnostic):
    """The value of a tensor chooses one of several objects, and one of them is changed later."""

    code = "OW886"
    title = "{what}"
    label = "{marked}"
    help = "{proposal}"
    error = ExportError
    kind: str
    in_loop: bool = False
    is_item: bool = False
    chosen_at: str = ""

    @property
    def what(self) -> str:
        """What the line does."""
        if self.kind == "Tensor":
            return f"this line changes a tensor in place, {self._other_name}"
        if self.is_item:
            return (
                f"this line puts an object of type `{self.kind}` into a list, or reads it from "
                "one, and the object is changed in place afterwards"
            )
        objects = f"one of several objects of type `{self.kind}`"
        chosen = f"this line chooses {objects} by a value"
        if self.in_loop:
            chosen = f"a variable of this loop has {objects}, by its iteration"
        return f"{chosen}, and one of them is changed in place afterwards"

    @property
    def _other_name(self) -> str:
        """What else may be the tensor that is changed."""
        if self.is_item:
            return f"which a loop appends to a list ({self.chosen_at})"
        chosen = "a loop carries" if self.in_loop else "a decision chose"
        return (
            f"and a tensor that {chosen} ({self.chosen_at}) may be the same one: it has another "
            "size or type, or is another part of it"
        )

    @property
    def proposal(self) -> str:
        """What to write, for the kind of object."""
        if self.is_item and self.kind != "Tensor":
            return (
                "the list has a run-time length, and its items are tensors in the model: make "
                "another object, and give it to the list, as in `items[n] = {**items[n], 'a': x}`"
            )
        if self.is_item:
            return "append a copy, `items.append(x.clone())`, or make another tensor, `x = x + 1`"
        on_sides, copies = _CHOSEN.get(self.kind, _CHOSEN["list"])
        return f"change it on each side of the decision: {on_sides}, or choose a copy: {copies}"

    @property
    def marked(self) -> str:
        """What is said at the line."""
        if self.kind == "Tensor":
            return "changed in place"
        return "an item of the list" if self.is_item else "chosen by a value"

    def facts(self) -> dict[str, object]:
        """The fields, and the words for the line and the kind of object."""
        words = ("what", "marked", "proposal")
        return {**super().facts(), **{name: getattr(self, name) for name in words}}


# The type of what is chosen -> what to write in place of a change of it after the choice.
_CHOSEN = {
    "Tensor": (
        "`if test: a += 1` and `else: b += 1`", "`c = a.clone() if test else b.clone()`",
    ),
    "dict": (
        "`if test: a[key] = x` and `else: b[key] = x`", "`c = dict(a) if test else dict(b)`",
    ),
    "list": (
        "`if test: a.append(x)` and `else: b.append(x)`", "`c = list(a) if test else list(b)`",
    ),
}  # fmt: skip


class ChangedOnOneSide(Diagnostic):
    """A branch or a loop changes an object in place whose state cannot be one of the model."""

    code = "OW887"
    title = "this line is decided by a value, and {changed} is changed in place there"
    label = "decided by a value"
    help = (
        "keep what changes in a tensor, a number, a list or a dict, and change it in functions "
        "that are called by name: operators of a class, `__len__` and the like are not converted; "
        "of an iterator, count the place and read the item at it"
    )
    error = ExportError
    changed: str


class MayChange(Diagnostic):
    """A branch calls a function that cannot be read, with an object that it may change."""

    code = "OW874"
    title = (
        "this line is decided by a value, and `{name}`, which is called there, may change an "
        "object of type `{kind}`"
    )
    label = "decided by a value"
    help = (
        "call it before the decision, give it tensors and numbers, or write the function in "
        "Python: a function of C or without source is not converted"
    )
    error = ExportError
    name: str
    kind: str


class UsedUpByExport(Diagnostic):
    """The program changes the state of an object of C, or of a generator, of before the export."""

    code = "OW898"
    title = "the program {does}"
    label = "used here"
    help = (
        "make it in `forward`, or keep its state in a buffer: of an iterator the number of the "
        "next item, and compute the item from it"
    )
    error = ExportError
    does: str


class OtherMemory(Diagnostic):
    """The program gives a tensor the memory of another one, by `.data`."""

    code = "OW902"
    title = "this line sets `.data` of a tensor, and no operator gives a tensor other memory"
    label = "set here"
    help = "write the values, `x.data.copy_(y)`, or assign the tensor, as `self.buffer = y`"
    error = ExportError


class ArrayMemory(Diagnostic):
    """A tensor has the memory of an array of numpy, and one of them is written to."""

    code = "OW904"
    title = "this line {does}: both have one memory, which the exported program does not share"
    label = "here"
    help = "make the tensor of a copy, after the array is written: `torch.tensor(array)`"
    error = ExportError
    does: str


class ReadsOutside(Diagnostic):
    """The program reads the clock, or random numbers of the system, while it is exported."""

    code = "OW903"
    title = (
        "this line calls `{name}`, which gives another value at each call: what follows from it "
        "is a constant of the model"
    )
    label = "called here"
    help = "make the value an input of the module; random numbers come from `torch.rand`"
    severity = "warning"
    name: str
