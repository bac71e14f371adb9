"""Which sides of a program's decisions by values run, when its module does.

The functions that were rewritten for the capture are rewritten once more, and run in plain PyTorch:
each decision then says what it was answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.frontend.rewritten_functions import Rewritten
from onnxwright.exporter.capture.session.session import Choice, noting
from onnxwright.exporter.places import line_of
from onnxwright.exporter.torch_lock import TORCH_LOCK


class Answers(dict[Choice, set[int]]):
    """What decisions were answered.

    Attributes:
        longest: the iterations of the loop that ran longest.
    """

    longest = 0


# Decisions that the model makes when it runs.
_AT_RUN_TIME = ("If", "Loop", "Item")


@dataclass(frozen=True)
class Branch:
    """A decision by a value, and which of its sides a verification ran.

    Fields:
        kind: "If", "Loop" or "Item", an item of a container.
        file, line: the user's line.
        text: the line.
        ran: what was answered: whether the condition held; of a loop, whether it had an iteration;
            of an item, its place in the container.
        sides: how many answers there are.
    """

    kind: str
    file: str
    line: int
    text: str
    ran: frozenset[int]
    sides: int = 2

    def missing(self) -> list[str]:
        """The sides that did not run, as text."""
        place = f"`{self.text}` ({Path(self.file).name}:{self.line})"
        if self.kind == "Item":
            left = [str(n) for n in range(self.sides) if n not in self.ran]
            return [f"{place} with item {', '.join(left)} of {self.sides}"] if left else []
        words = {True: "an iteration", False: "no iteration"}
        if self.kind == "If" and self.text.startswith("for "):
            words = {True: "all iterations", False: "`break`"}
        elif self.kind == "If":
            words = {True: "a true condition", False: "a false condition"}
        return [f"{place} with {words[side]}" for side in (True, False) if side not in self.ran]


@dataclass(frozen=True)
class ValueDecisions:
    """The decisions by values of a captured program.

    Fields:
        choices: them, in order.
        rewritten: the functions that decide.
        absent: the lines of those by which a result is None; the model raises an error there.
        left_out: the lines at which Python raises an error for some values -> its class.
        two_types: the lines of those whose sides give tensors of two types -> these, and the one of
            the model.
    """

    choices: tuple[Choice, ...] = ()
    rewritten: Rewritten = field(default_factory=Rewritten)
    absent: tuple[tuple[str, int], ...] = ()
    left_out: Mapping[tuple[str, int], str] = field(default_factory=dict)
    two_types: Mapping[tuple[str, int], tuple[torch.dtype, ...]] = field(default_factory=dict)

    def warn(self) -> None:
        """Warn of None as a result (OW863), errors left out (OW900), and two types (OW864)."""
        for place in self.absent:
            warn(messages.ResultIsNone(span=line_of(*place)))
        for place, kind in self.left_out.items():
            warn(messages.ErrorLeftOut(kind=kind, span=line_of(*place)))
        for place, types in self.two_types.items():
            one, other, both = map(str, types)
            warn(messages.SidesOfTwoTypes(one=one, other=other, both=both, span=line_of(*place)))

    @property
    def assumed(self) -> list[Choice]:
        """The decisions that the user answered."""
        return [choice for choice in self.choices if choice.kind == "assumed"]

    @property
    def at_run_time(self) -> list[Choice]:
        """The decisions that the model makes when it runs."""
        return [choice for choice in self.choices if choice.kind in _AT_RUN_TIME]

    @contextmanager
    def observed(self, most: int | None = None) -> Iterator[Answers]:
        """In this context, what decisions are answered is recorded.

        Args:
            most: the iterations after which a loop raises `LongLoopError`; None for no bound.

        Yields:
            What each was answered; complete at the end.
        """
        recorded_answers = Answers()
        with TORCH_LOCK, self.rewritten.running(), noting(most) as answers:
            yield recorded_answers
        recorded_answers.longest = answers.longest
        for choice in self.choices:
            line_answers = answers.get((choice.file, choice.line), {})
            taken = line_answers.get((choice.kind, choice.sides))
            if taken is None and choice.kind != "Item":
                # What is a Loop in the model may be an If of Python, and the other way round.
                taken = set().union(*(a for (kind, _), a in line_answers.items() if kind != "Item"))
            if taken:
                recorded_answers[choice] = taken
