"""Which sides of a program's decisions by values run, when its module does.

The functions that were rewritten for the capture are rewritten once more, and run in plain PyTorch:
each decision then says what it was answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from onnxwright.exporter.capture.source.functions import Rewritten
from onnxwright.exporter.capture.source.session import Choice, noting
from onnxwright.exporter.torch_lock import TORCH_LOCK

Answers = dict[Choice, set[bool]]


@dataclass(frozen=True)
class Branch:
    """A decision by a value, and which of its sides a verification ran.

    Fields:
        kind: "If" or "Loop".
        file, line: the user's line.
        text: the line.
        ran: what was answered: whether the condition held; of a loop, whether it had an iteration.
    """

    kind: str
    file: str
    line: int
    text: str
    ran: frozenset[bool]

    def missing(self) -> list[str]:
        """The sides that did not run, as text."""
        place = f"`{self.text}` ({Path(self.file).name}:{self.line})"
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
    """

    choices: tuple[Choice, ...] = ()
    rewritten: Rewritten = field(default_factory=Rewritten)

    def of_kinds(self, *kinds: str) -> list[Choice]:
        """The decisions of some kinds."""
        return [choice for choice in self.choices if choice.kind in kinds]

    @contextmanager
    def observed(self) -> Iterator[Answers]:
        """While it lasts, what decisions are answered is recorded.

        Yields:
            What each was answered; complete at the end.
        """
        found: Answers = {}
        with TORCH_LOCK, self.rewritten.in_place(), noting() as answers:
            yield found
        for choice in self.choices:
            given = answers.get((choice.file, choice.line), {})
            # A line may have an If and a Loop, and is one of each kind then.
            kinds = given.get(choice.kind) or set().union(*given.values())
            if kinds:
                found[choice] = kinds
