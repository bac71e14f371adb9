"""What lets a refused capture succeed: answers and `torch._check` lines, found by trying them.

A capture fails because of a condition: of a decision whose sides cannot be one value, or of a size
that PyTorch has to know.  What holds for the example inputs is found by running the module once.
Each answer and each check that agrees with it is tried, as the user would paste it, and only what
then succeeds is proposed.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Union

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.source.conditions import Condition, conditions_of, names_in
from onnxwright.exporter.capture.source.errors import RefusedError
from onnxwright.exporter.capture.source.expressions import RUNTIME
from onnxwright.exporter.capture.source.functions import Rewritten
from onnxwright.exporter.capture.source.inserting import Inserted
from onnxwright.exporter.capture.source.session import Noted, Seen, noting, observing
from onnxwright.exporter.capture.source.value_errors import reads_value

# How many captures are tried, and how long the one that failed may have taken, in seconds.
_TRIES = 8
_SLOW = 5.0


@dataclass(frozen=True)
class Answer:
    """`assume={key: value}`."""

    file: str
    line: int
    value: bool

    @property
    def key(self) -> str:
        """The decision, as `assume` takes it."""
        return f"{Path(self.file).name}:{self.line}"

    def __str__(self) -> str:
        return f"`assume={{{self.key!r}: {self.value}}}`"


@dataclass(frozen=True)
class Check:
    """`torch._check(condition)` before a line; `fixes` a number to that of the example inputs."""

    file: str
    line: int
    condition: str
    fixes: bool = False

    @property
    def statement(self) -> str:
        """What is inserted."""
        return f"torch._check({self.condition})"

    def __str__(self) -> str:
        place = f"`{self.statement}` before {Path(self.file).name}:{self.line}"
        return f"{place} (the number of the example inputs)" if self.fixes else place


Remedy = Union[Answer, Check]


@dataclass(frozen=True)
class Failure:
    """A capture by source that failed.

    Fields:
        error: what it raised.
        rewritten: the functions that decide.
        seconds: how long it took.
    """

    error: BaseException
    rewritten: Rewritten
    seconds: float


@dataclass(frozen=True)
class Proposal:
    """What was tried.

    Fields:
        tries: how many captures.
        found: sets of remedies with each of which the capture succeeds.
    """

    tries: int
    found: tuple[tuple[Remedy, ...], ...] = ()

    def __str__(self) -> str:
        if not self.found:
            return ""
        ways = [" and ".join(map(str, remedies)) for remedies in self.found]
        return "this was tried, and the model is captured with it: " + "; or ".join(ways)


Attempt = Callable[[Mapping[str, bool], Rewritten], "Failure | None"]


@dataclass
class _Search:
    """One search.

    Fields:
        run: runs the module on the example inputs.
        attempt: captures with answers, and with functions that are rewritten from the start.
        deadline: when it ends, by `time.monotonic`.
        tries: how many captures were tried.
    """

    run: Callable[[], object]
    attempt: Attempt
    deadline: float
    tries: int = 0
    found: list[tuple[Remedy, ...]] = field(default_factory=list)

    def go(self, failure: Failure, so_far: tuple[Remedy, ...]) -> None:
        """Try what may help against a failure, beside what was chosen before."""
        further: tuple[Failure, tuple[Remedy, ...]] | None = None
        frames = [f for f, _ in traceback.walk_tb(failure.error.__traceback__)]
        for remedy in self.remedies(failure, so_far):
            if self.tries == _TRIES or time.monotonic() > self.deadline:
                return
            if isinstance(remedy, Check) and self.found:
                continue  # the first is the most general
            self.tries += 1
            chosen = (*so_far, remedy)
            next_failure = self.attempt_with(failure, chosen, frames)
            if next_failure is None:
                self.found.append(self.fewest(failure, chosen, frames))
            elif further is None and not _is_same(failure.error, next_failure.error):
                further = next_failure, chosen
        if not self.found and further is not None:
            self.go(*further)

    def fewest(
        self, failure: Failure, chosen: tuple[Remedy, ...], frames: Sequence[FrameType]
    ) -> tuple[Remedy, ...]:
        """Remedies without those that are not needed beside the last."""
        for remedy in chosen[:-1]:
            fewer = tuple(r for r in chosen if r is not remedy)
            if self.tries < _TRIES:
                self.tries += 1
                if self.attempt_with(failure, fewer, frames) is None:
                    chosen = fewer
        return chosen

    def attempt_with(
        self, failure: Failure, chosen: Sequence[Remedy], frames: Sequence[FrameType]
    ) -> Failure | None:
        """Capture with remedies; what fails then."""
        try:
            rewritten = failure.rewritten.with_inserted(_inserted(chosen), frames)
        except RefusedError as error:
            return Failure(error, failure.rewritten, 0)
        assume = {r.key: r.value for r in chosen if isinstance(r, Answer)}
        return self.attempt(assume, rewritten)

    def remedies(self, failure: Failure, so_far: Sequence[Remedy]) -> list[Remedy]:
        """What may help against a failure, of what holds for the example inputs."""
        condition, line = _condition(failure.error)
        answers, seen = self.observed(failure, condition, line, so_far)
        found: list[Remedy] = []
        if condition is not None and line is not None:
            fixes = isinstance(condition.expression, sympy.Expr)
            found += [Check(*line, text, fixes) for text in conditions_of(condition, seen)]
        for place in _decisions(failure.error):
            given = answers.get(place, {}).get(("If", 2), {0, 1})
            if len(given) == 1 or not answers:
                found += [Answer(*place, bool(value)) for value in sorted(given, reverse=True)]
        return [r for r in found if r not in so_far]

    def observed(
        self,
        failure: Failure,
        condition: Condition | None,
        line: tuple[str, int] | None,
        so_far: Sequence[Remedy],
    ) -> tuple[Noted, Seen]:
        """What decisions are answered, and the numbers of a condition, for the example inputs."""
        watched = {
            name: f"{RUNTIME}.observe({name!r}, lambda: {name})"
            for name in (condition.names if condition is not None else ())
        }
        inserted = dict(_inserted(so_far))
        if line is not None and watched:
            inserted[line] = (*inserted.get(line, ()), *watched.values())
        frames = [f for f, _ in traceback.walk_tb(failure.error.__traceback__)]
        with noting() as answers, observing() as seen:
            try:
                with failure.rewritten.with_inserted(inserted, frames).in_place():
                    self.run()
            except Exception:  # noqa: BLE001 - the user's code; nothing is known then
                return {}, {}
        return answers, seen


def proposed(failure: Failure, run: Callable[[], object], attempt: Attempt) -> Proposal:
    """What lets a capture succeed that failed.

    Args:
        failure: it.
        run: runs the module on the example inputs.
        attempt: captures with answers, and with functions that are rewritten from the start; gives
            what failed.

    Returns:
        What was tried; nothing is if the capture took long.
    """
    if failure.seconds > _SLOW:
        return Proposal(0)
    search = _Search(run, attempt, time.monotonic() + 2 * _SLOW)
    search.go(failure, ())
    return Proposal(search.tries, tuple(search.found))


def _inserted(remedies: Sequence[Remedy]) -> Inserted:
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for r in remedies:
        if isinstance(r, Check):
            place = r.file, r.line
            found[place] = (*found.get(place, ()), r.statement)
    return found


def _condition(error: BaseException) -> tuple[Condition | None, tuple[str, int] | None]:
    """The condition that stops a capture, in names of the user's; and the line before which."""
    about: Any = None
    cause = reads_value(error)
    if isinstance(cause, GuardOnDataDependentSymNode):
        about = getattr(cause, "cond", None)  # not before torch 2.8
    elif isinstance(error, RefusedError):
        cause, about = error, error.condition
    if cause is None or not isinstance(about, sympy.Basic):
        return None, None
    for frame, line in reversed(list(traceback.walk_tb(cause.__traceback__))):
        file = frame.f_code.co_filename
        if owner_of(file) is not Owner.USER:
            continue
        if frame.f_globals.get("torch") is not torch:
            continue
        condition = Condition.of(about, names_in(frame.f_locals))
        if condition is not None:
            return condition, (file, line)
    return None, None


def _decisions(error: BaseException) -> list[tuple[str, int]]:
    """The lines of the decisions that a capture failed in, innermost first."""
    found: dict[tuple[str, int], None] = {}
    asking: tuple[str, int] | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if owner_of(file) is not Owner.ONNXWRIGHT:
            asking = file, line
            continue
        # Decisions that loops make of themselves have no answer.
        written = frame.f_locals.get("written", True)
        if asking and frame.f_code.co_name in ("if_", "choose") and written:
            found.pop(asking, None)
            found[asking] = None
        asking = None
    return list(reversed(found))


def _is_same(one: BaseException, two: BaseException) -> bool:
    """Whether two captures failed for one reason."""
    return type(one) is type(two) and str(one) == str(two)
