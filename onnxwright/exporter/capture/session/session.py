"""What one try of a capture by source records: decisions, checks that were left out, answers."""

from __future__ import annotations

import linecache
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import RefusedError
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.stand_ins import KINDS
from onnxwright.exporter.capture.session.truths import Truths
from onnxwright.exporter.places import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Choice:
    """A decision of Python that is part of the program now.

    Fields:
        kind: "If", "Loop", "Item", "check left out" or "assumed".
        file, line: the user's line.
        text: the line.
        sides: how many answers there are; of an "Item" the items of the container.
    """

    kind: str
    file: str
    line: int
    text: str
    sides: int = 2


class Numbers:
    """A set of tensors by identity."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}
        self._choices: dict[int, frozenset[int]] = {}
        self._picked: dict[int, tuple[Any, dict[int, Any]]] = {}
        # Not kept alive: what no variable has any more is no alias of what is written to.
        self._types: dict[int, tuple[weakref.ref[Any], frozenset[type]]] = {}

    def add(self, tensor: Any, choices: frozenset[int] = frozenset()) -> None:
        """Add a tensor; `choices` are all integers of Python that it may stand for, if known."""
        self._kept[id(tensor)] = tensor
        if choices:
            self._choices[id(tensor)] = choices

    def pick(self, tensor: Any, tag: Any, numbers: dict[int, Any]) -> None:
        """Remember which number of Python a tensor is for each value of a tag."""
        self._picked[id(tensor)] = tag, numbers

    def picked(self, number: Any) -> tuple[Any, dict[int, Any]] | None:
        """The tag that picks a number, and the numbers; None for one that no tag picks."""
        return self._picked.get(id(number))

    def note_types(self, tensor: Any, types: frozenset[type]) -> None:
        """Remember the classes of Python that a value has one of: which is known at run time."""
        if len(types) > 1:
            self._types[id(tensor)] = weakref.ref(tensor), types

    def has_types(self, value: Any) -> bool:
        """Whether a value is of one of several classes of Python."""
        entry = self._types.get(id(value))
        return entry is not None and entry[0]() is value

    def types(self, value: Any) -> frozenset[type]:
        """The classes of Python that a value may be of, where the model runs."""
        if self.has_types(value):
            return self._types[id(value)][1]
        if not isinstance(value, torch.Tensor):
            return frozenset([KINDS.get(type(value), type(value))])
        if value not in self:
            return frozenset([torch.Tensor])
        whole = bool if value.dtype == torch.bool else int
        return frozenset([float if value.dtype.is_floating_point else whole])

    def __bool__(self) -> bool:
        """Whether there is a tensor that stands for a number of Python."""
        return bool(self._kept or self._choices or self._picked)

    def choices(self, number: Any) -> frozenset[int]:
        """The integers of Python that a value may stand for; none where they are not known."""
        if isinstance(number, int):
            return frozenset([number])
        return self._choices.get(id(number), frozenset())

    def __contains__(self, tensor: Any) -> bool:
        return id(tensor) in self._kept

    def __len__(self) -> int:
        return len(self._kept)


@dataclass
class Session:
    """One try.

    Fields:
        assume: answers of the user, by `file.py:LINE` or by the text of the condition.
        choices: what was decided, in order; each once.
        used: the keys of `assume` that answered.
        numbers: tensors that stand for numbers of Python, which no operator changes in place.
        truths: what follows from the decisions around the line that runs now.
        one_sided: attributes that only one side of a decision sets -> the object, and the decision.
        inherited: classes and attributes of them that an object has of its own on one side alone.
        counters: the nodes of the counters of these that go up by 1 -> their range.
        keeps_loops: whether it is tried to keep the loops over dynamic sizes.
        unrolled: why loops over sizes are unrolled, by their lines.
        absent: the lines of decisions by which a result of the model is None.
        left_out: the lines at which Python raises an error for some candidates -> its class.
        two_types: the lines of decisions whose sides give tensors of two types -> these, and that
            of the model.
        forms: the candidates that values of which there are several may be, with their numbers.
        by_reference: the numbers of those that are objects, and not their parts.
        computed: the texts among them that the program computes.
        has_choices: whether there is such a value.
        fixed_forms: how many loops around the line carry no variable as one of several values.
        decide: decides between two branches that change a state: `conditional.conditional`.
        left: iterators of which nobody knows how many items are left.
        chosen: objects that a decision made of others, as `chosen_objects.Chosen`.
        aliases: tensors that decisions and loops made of others, as `memory.Aliases`.
        sizes: the decisions by sizes that are exported for both sides, as
            `size_sides.SizeDecisions`; None where torch decides by sizes.
        written_slice: the line that wrote to a slice of run-time bounds, without gradients.
        number_of: the number of a tensor that holds one which follows from sizes, or None.
        fixed_places: how many loops around the line go over places that can be gone through one by
            one, with numbers that Python knows.
    """

    assume: Mapping[str, bool] = field(default_factory=dict)
    choices: dict[Choice, None] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    numbers: Numbers = field(default_factory=Numbers)
    truths: Truths = field(default_factory=Truths)
    one_sided: dict[tuple[int, str], tuple[Any, tuple[str, int]]] = field(default_factory=dict)
    inherited: set[tuple[type, str]] = field(default_factory=set)
    counters: dict[Any, Any] = field(default_factory=dict)
    keeps_loops: bool = False
    unrolled: dict[tuple[str, int], Exception] = field(default_factory=dict)
    fixed_places: int = 0
    absent: dict[tuple[str, int], None] = field(default_factory=dict)
    left_out: dict[tuple[str, int], str] = field(default_factory=dict)
    two_types: dict[tuple[str, int], tuple[Any, ...]] = field(default_factory=dict)
    forms: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    by_reference: set[int] = field(default_factory=set)
    computed: set[str] = field(default_factory=set)
    has_choices: bool = False
    fixed_forms: int = 0
    decide: Any = None
    left: list[Any] = field(default_factory=list)
    chosen: list[Any] = field(default_factory=list)
    aliases: Any = None
    sizes: Any = None
    written_slice: tuple[str, int] | None = None
    number_of: Callable[[Any], Any] = lambda _: None

    def record(self, kind: str, sides: int = 2) -> Choice:
        """Record a decision of the user's line that runs now."""
        file, line = model_line()
        choice = Choice(kind, file, line, linecache.getline(file, line).strip(), sides)
        self.choices.setdefault(choice)
        return choice

    def answer(self) -> bool | None:
        """What the user said of the decision that is asked now; None if nothing."""
        if not self.assume:
            return None
        file, line = model_line()
        text = linecache.getline(file, line).strip()
        for key, value in self.assume.items():
            place, _, number = key.rpartition(":")
            if number.strip().isdigit():
                matches = int(number) == line and (file == place or file.endswith(f"/{place}"))
            else:
                matches = _is_in(key, text)
            if matches:
                self.used.add(key)
                return bool(value)
        return None


def equal_sides() -> bool | None:
    """The side of the decision that is asked now which gives what the other one gives.

    Returns:
        The answer that leads to it; None for decisions of which that is not known.
    """
    file, line = model_line()
    for home, text, answer in _EQUAL:
        if file.endswith(home) and linecache.getline(file, line).strip().startswith(text):
            return answer
    return None


# Decisions that choose between equal results, and what is right for all inputs: the end of a
# file's path, how the line begins, the answer.
_EQUAL = (
    # The sides differ for tensors without elements only.
    ("torchvision/models/detection/_utils.py", "if box_sum > 0:", True),
    # Suppression class by class, or of all boxes at once, moved apart by their classes.
    ("torchvision/ops/boxes.py", "if boxes.numel() > (4000 if boxes", False),
)


def _is_in(key: str, text: str) -> bool:
    """Whether a line has a condition, however it is spaced."""
    return "".join(key.split()) in "".join(text.split())


_now = threading.local()


def current() -> Session | None:
    """The session of this thread; None outside a capture by source."""
    return getattr(_now, "session", None)


def set_session(new: Session, changes: Changes, _: Any) -> None:
    """Make a session that of this thread.

    Args:
        changes: undo it.
    """
    before = current()
    _now.session = new
    changes.later(lambda: setattr(_now, "session", before))


@contextmanager
def fixed_places() -> Iterator[None]:
    """In this context, a loop over places of a mask of fixed size is made one of the graph."""
    now = current()
    assert now is not None
    now.fixed_places += 1
    try:
        yield
    finally:
        now.fixed_places -= 1


class Noted(dict[tuple[str, int], dict[tuple[str, int], set[int]]]):
    """The answers by line, then by kind and number of sides.

    Attributes:
        longest: the iterations of the loop that ran longest.
        most: the iterations after which a loop is stopped; None for no bound.
    """

    longest = 0
    most: int | None = None


class LongLoopError(RuntimeError):
    """A loop has more iterations than it may have where answers are recorded.

    Args:
        place: the file and line of the loop.
        most: how many iterations it may have.
    """

    def __init__(self, place: tuple[str, int], most: int) -> None:
        text = linecache.getline(*place).strip()
        where = f"{Path(place[0]).name}:{place[1]}"
        super().__init__(f"`{text}` ({where}) does not end within {most} iterations")


@contextmanager
def noting(most: int | None = None) -> Iterator[Noted]:
    """In this context, what decisions are answered in this thread is recorded.

    Args:
        most: the iterations after which a loop raises `LongLoopError`; None for no bound.
    """
    before = getattr(_now, "noted", None)
    recorded = Noted()
    recorded.most = most
    _now.noted = recorded
    try:
        yield recorded
    finally:
        _now.noted = before


def note_iteration(n: int) -> None:
    """Record that a loop begins an iteration, counted from 1, if that is wanted.

    Raises:
        LongLoopError: there are more than it may have.
    """
    noted: Noted | None = getattr(_now, "noted", None)
    if noted is None:
        return
    noted.longest = max(noted.longest, n)
    if noted.most is not None and n > noted.most:
        raise LongLoopError(model_line(), noted.most)


def is_noting() -> bool:
    """Whether answers are recorded in this thread."""
    return getattr(_now, "noted", None) is not None


def note(kind: str, answer: int, sides: int = 2) -> None:
    """Record what the decision that runs now is answered, if that is wanted."""
    noted: Noted | None = getattr(_now, "noted", None)
    if noted is not None:
        noted.setdefault(model_line(), {}).setdefault((kind, sides), set()).add(answer)


@contextmanager
def refused_here() -> Iterator[None]:
    """Give what is refused inside the place of the decision that is asked now."""
    try:
        yield
    except RefusedError as error:
        if error.span is None:
            error.span = line_of(*model_line())
        raise
