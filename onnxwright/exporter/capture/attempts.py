"""A model as an ExportedProgram: ways to capture, tried in a stated order, each one recorded."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch.fx.experimental.symbolic_shapes import PendingUnbackedSymbolNotFound

from onnxwright.errors import ExportError
from onnxwright.exporter.capture.assumptions.specialization import fixed_values
from onnxwright.exporter.capture.attempt import Attempt, Capture, attempted, captured
from onnxwright.exporter.capture.capture_errors import raise_uncaptured
from onnxwright.exporter.capture.drafts import draft
from onnxwright.exporter.capture.held_state import run_unchanged
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.outcomes import Outcome
from onnxwright.exporter.capture.quantized.modules import holds_packed
from onnxwright.exporter.capture.source.conversions import Conversions
from onnxwright.exporter.capture.source.functions import Rewritten
from onnxwright.exporter.capture.source.proposing import Failure, Proposal, proposed
from onnxwright.exporter.capture.source.strategy import rewritten_conversions
from onnxwright.exporter.capture.source.value_errors import has_deciding_frame, is_about_fixed_size
from onnxwright.exporter.capture.strategies import (
    Source,
    Strategy,
    non_strict,
    strict,
    substitutes,
    with_torch_func,
)
from onnxwright.exporter.capture.torch_output import capture_torch_output
from onnxwright.exporter.capture.unrolled_loops import Loops, with_loops
from onnxwright.exporter.capture.ways import Way, sources, ways
from onnxwright.exporter.torch_lock import TORCH_LOCK


def capture(
    model: Any,
    wanted: Wanted,
    how: str | Strategy,
    outcomes: list[Outcome],
    assume: Mapping[str, bool] | None = None,
) -> Capture:
    """Capture a model.

    Args:
        model: a module.
        wanted: example inputs, and which dimensions are dynamic.
        how: "auto", a name of `NAMED`, or a function
            `(model, args, kwargs, dynamic_shapes) -> ExportedProgram`.
        outcomes: what became of each way that was tried is added here.
        assume: answers to decisions by values, by `file.py:LINE` or the text of the condition.

    Returns:
        The program, and how it was captured.

    Raises:
        ExportError: none worked (OW821); the message has the reason of each.
        ExportValueError: the strategy is unknown, or the given function returned no program
            (OW825).
    """
    return _Search(model, wanted, how, outcomes, assume or {}).run()


@dataclass
class _Search:
    """The search for a way that captures a model.

    A program that lost a dynamic size is kept, and ways that may keep the size are tried: the one
    that lost fewest sizes is the result.

    Fields:
        model, wanted, how, outcomes, assume: as in `capture`.
        waiting: the ways that were not tried yet.
        errors: what the ways raised.
        failed: the captures by source that failed, with their inputs.
        has_sources: whether the capture by source was put before others.
        best: the program that lost fewest sizes, if there is a program.
        lost: how many it lost.
        loops: the loops that made numbers of sizes, in all attempts.
        conversions: the functions that took a size as a number; rewritten if no other way is left.
    """

    model: Any
    wanted: Wanted
    how: str | Strategy
    outcomes: list[Outcome]
    assume: Mapping[str, bool]
    waiting: list[Way] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    failed: list[tuple[Failure, Wanted]] = field(default_factory=list)
    has_sources: bool = False
    best: Capture | None = None
    lost: int = 0
    loops: Loops = field(default_factory=Loops)
    conversions: Conversions = field(default_factory=dict)

    def run(self) -> Capture:
        """The program of the first way that keeps all sizes, or of the one that keeps most."""
        self.waiting = self._first_ways()
        while (way := self._next()) is not None:
            attempt = attempted(way, self.model, must_work=self.best is None)
            self.outcomes.append(attempt.outcome())
            if way.strategy is non_strict and self.is_auto:
                self.conversions = self.conversions or attempt.conversions
            if attempt.error is not None:
                self._add_failure(attempt, attempt.error)
            elif (found := self._accepted(attempt)) is not None:
                return found
        if self.best is not None:
            return dataclasses.replace(self.best, unrolled=self.loops.notes())
        raise_uncaptured(self.errors, self.outcomes, self._proposal())

    @property
    def is_auto(self) -> bool:
        """Whether all ways may be tried."""
        return self.how == "auto"

    def _first_ways(self) -> list[Way]:
        if self.how == "source":
            return sources(self.wanted, None, self.assume)
        quantized = self.is_auto and holds_packed(self.model)
        return ways(self.wanted, "quantized" if quantized else self.how)

    def _next(self) -> Way | None:
        """The next way to try; None if all were tried."""
        if not self.waiting and self.conversions:
            functions = rewritten_conversions(self.conversions)
            self.waiting = sources(self.wanted, None, self.assume, functions)
            self.conversions = {}
        tried = any(outcome.strategy == "source" for outcome in self.outcomes)
        if not self.waiting and self.lost and self.is_auto and not tried:
            # The other ways failed where Python asks for a value, and one fixed a size there.
            self.waiting = self._after_errors()
        if self.best is not None:
            self.waiting = [way for way in self.waiting if _may_keep_sizes(way.strategy)]
        return self.waiting.pop(0) if self.waiting else None

    def _add_failure(self, attempt: Attempt, error: Exception) -> None:
        """Note an error, and add the ways that are made for it."""
        way = attempt.way
        self.errors.append(error)
        if isinstance(way.strategy, Source):
            failure = Failure(error, way.strategy.functions, attempt.seconds)
            self.failed.append((failure, way.inputs))
        self.loops.refused(error)
        if not way.relaxed and not isinstance(way.strategy, Source) and has_deciding_frame(error):
            # The bounds of dimensions do not answer a question about a value.
            self.waiting = [
                other
                for other in self.waiting
                if not (other.relaxed and other.strategy is way.strategy)
            ]
        if self.best is not None:
            return
        if (
            self.is_auto
            and not self.waiting
            and not self.has_sources
            and not isinstance(way.strategy, Source)
        ):
            self.waiting = self._after_errors()
            if self.waiting:
                self.conversions = {}
        self.waiting = self._ways_for(attempt, error) + self.waiting

    def _accepted(self, attempt: Attempt) -> Capture | None:
        """The program of an attempt; None if other ways may keep sizes that it lost."""
        way, found = attempt.way, attempt.capture()
        lost = attempt.lost_sizes(self.wanted)
        unfinished = attempt.has_unresolved_func(lost)
        with_loops = self._with_loops(attempt) if lost else None
        misread = self._with_misread(attempt)
        if way.strategy is draft:
            return found
        has_lost = self.is_auto and (unfinished or bool(fixed_values(found.program)))
        if with_loops is None and misread is None and not has_lost:
            attempt.output.replay()
            return found
        # Sizes became numbers of Python; loops over them, and tracing of Python, may keep them.
        earlier = way.strategy.unrolled if isinstance(way.strategy, Source) else {}
        self.loops.add(attempt.loops, earlier)
        if self.best is None or lost < self.lost:
            self.best, self.lost = found, lost
        if attempt.uses_func():
            self.waiting = ways(self.wanted, "torch.func") + self.waiting
        if misread is not None:
            self.waiting = sources(self.wanted, None, self.assume, misread) + self.waiting
        if with_loops is not None:
            others = [other for other in self.waiting if not isinstance(other.strategy, Source)]
            first = sources(self.wanted, None, self.assume, with_loops, keeps_loops=True)
            self.waiting = first + others
        return None

    def _with_loops(self, attempt: Attempt) -> Rewritten | None:
        """The functions to rewrite, so that loops over sizes are kept; None if none are new."""
        strategy = attempt.way.strategy
        if self.how not in ("auto", "source") or strategy is strict:
            return None
        if not isinstance(strategy, Source):
            return with_loops(attempt.loops, None)
        return with_loops(attempt.loops, strategy.functions, strategy.keeps_loops)

    def _with_misread(self, attempt: Attempt) -> Rewritten | None:
        """The functions to rewrite, so that they read numbers of run time as Python would."""
        if (
            not self.is_auto
            or isinstance(attempt.way.strategy, Source)
            or not attempt.misread.functions
        ):
            return None
        functions = rewritten_conversions(attempt.misread.functions)
        return functions if functions.codes else None

    def _after_errors(self) -> list[Way]:
        """The capture by source, if the last error of a value that Python reads is of the model.

        Also for sizes that torch makes twice with gradients, without which it captures by source.
        """
        first = next((e for e in reversed(self.errors) if has_deciding_frame(e)), None)
        made_twice = any(isinstance(e, PendingUnbackedSymbolNotFound) for e in self.errors)
        return sources(self.wanted, first, self.assume) if first or made_twice else []

    def _ways_for(self, attempt: Attempt, error: Exception) -> list[Way]:
        """The ways that are made for what stopped a capture."""
        if self.is_auto and attempt.way.strategy is non_strict and attempt.is_about_func():
            return ways(self.wanted, "torch.func")
        if self.wanted.relaxed() is None and is_about_fixed_size(error):
            functions = self._with_loops(attempt)
            if functions is not None:
                return sources(self.wanted, None, self.assume, functions, keeps_loops=True)[:1]
        if not self.is_auto or attempt.way.strategy is not non_strict:
            return []
        if attempt.is_about_quantized():
            return ways(self.wanted, "quantized")
        if attempt.conversions and has_deciding_frame(error, of_assert=False):
            # Compiling asks the same question, after minutes with the sizes that are computed.
            self.has_sources = True
            last = [way for way in self.waiting if way.strategy is strict]
            others = [way for way in self.waiting if way.strategy is not strict]
            self.waiting = [*others, *sources(self.wanted, error, self.assume), *last]
        return []

    def _proposal(self) -> Proposal:
        """What lets a capture by source succeed: that of the first form of the inputs."""
        if not self.failed:
            return Proposal(0)
        failure, inputs = self.failed[0]

        def run() -> None:
            run_unchanged(self.model, inputs.args, inputs.kwargs)

        def attempt(answers: Mapping[str, bool], functions: Rewritten) -> Failure | None:
            strategy = Source(None, {**self.assume, **answers}, functions)
            begun = time.perf_counter()
            error: Exception | None
            with TORCH_LOCK, capture_torch_output():
                try:
                    _, error = captured(Way("source", strategy, inputs, False), self.model, [], [])
                except ExportError as refused:
                    error = refused
            seconds = time.perf_counter() - begun
            return None if error is None else Failure(error, strategy.functions, seconds)

        return proposed(failure, run, attempt)


def _may_keep_sizes(strategy: Strategy) -> bool:
    """Whether a way may keep a size dynamic that a capture without tracing of Python fixes."""
    return strategy in (strict, substitutes, with_torch_func) or isinstance(strategy, Source)
