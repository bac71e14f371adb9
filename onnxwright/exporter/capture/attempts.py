"""A model as an ExportedProgram: captured as it is, and by its source where that is not enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxwright.exporter.capture.assumptions.specialization import fixed_values
from onnxwright.exporter.capture.attempt import Attempt, Capture, attempted
from onnxwright.exporter.capture.capture_errors import raise_uncaptured
from onnxwright.exporter.capture.held_state import run_unchanged
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.outcomes import Outcome
from onnxwright.exporter.capture.quantized.modules import holds_packed
from onnxwright.exporter.capture.source.errors import TextUsedError
from onnxwright.exporter.capture.source.proposing import proposed
from onnxwright.exporter.capture.strategies import Source, Strategy
from onnxwright.exporter.capture.torch_errors import is_about_quantized, reads_value
from onnxwright.exporter.capture.unrolled_loops import Loops
from onnxwright.exporter.capture.ways import Way, ways
from onnxwright.exporter.places import is_of_torch


def capture(
    model: Any,
    wanted: Wanted,
    how: str | Strategy,
    outcomes: list[Outcome],
    assume: Mapping[str, bool] | None = None,
) -> Capture:
    """Capture a model.

    With "auto" the model is captured as it is. Where Python reads a value, or a size that was asked
    to be dynamic becomes a number, it is captured by its source.

    Args:
        model: a module.
        wanted: example inputs, and which dimensions are dynamic.
        how: "auto", a name of `NAMED`, or a function
            `(model, args, kwargs, dynamic_shapes) -> ExportedProgram`.
        outcomes: what became of each capture is added here.
        assume: answers to decisions by values, by `file.py:LINE` or the text of the condition.

    Returns:
        The program, and how it was captured.

    Raises:
        ExportError: it cannot be captured (OW821); the message has the reasons.
        ExportValueError: the strategy is unknown, or the given function returned no program
            (OW825).
    """
    captures = _Captures(model, wanted, outcomes, assume or {})
    found = captures.automatic() if how == "auto" else captures.first(how)
    if found is not None:
        return captures.result(found)
    raise_uncaptured(captures.errors, outcomes, captures.proposal())


@dataclass
class _Captures:
    """The captures of one model.

    Fields:
        model, wanted, outcomes, assume: as in `capture`.
        errors: what captures raised.
        failed: the last capture of one way, where it failed.
        by_source: the last capture by source.
        loops: the loops that made numbers of sizes.
        both: what a capture by source gave, begun where the capture as it is came to a decision by
            sizes.
    """

    model: Any
    wanted: Wanted
    outcomes: list[Outcome]
    assume: Mapping[str, bool]
    errors: list[Exception] = field(default_factory=list)
    failed: Attempt | None = None
    by_source: Attempt | None = None
    loops: Loops = field(default_factory=Loops)
    both: Attempt | None = None

    def automatic(self) -> Attempt | None:
        """The capture as it is, or by source where that keeps more; None if both fail."""
        packed = holds_packed(self.model)
        ends = any(self.wanted.axes) and not packed
        plain = self.first("quantized" if packed else "non-strict", ends=ends)
        if plain is not None and plain is self.both:
            return plain
        if plain is None and is_about_quantized(self.errors[0]):
            plain = self.first("quantized")
        plain = self._without_func(plain)
        if plain is None:
            return self.first("source") if self._may_decide() else None
        lost = plain.lost_sizes(self.wanted)
        # Where no size was asked to be dynamic, a loop over one that is may be unrolled.
        fixed = not self.loops.lines and fixed_values(plain.program)
        limits = plain.limiting(self.wanted)
        if not lost and not plain.texts and not fixed and not limits:
            return plain
        other = self.both or self._once(self._by_source(plain.way), must_work=False)
        if isinstance(other.error, TextUsedError):
            return None  # the text is the name of a symbol in the capture as it is
        if other.error is not None:
            return plain
        left = other.lost_sizes(self.wanted)
        if left != lost:
            return other if left < lost else plain
        return other if plain.texts or len(other.limiting(self.wanted)) < len(limits) else plain

    def _by_source(self, way: Way) -> Way:
        """A way with its form of the inputs, by source."""
        keeps = any(self.wanted.axes)
        strategy = Source(self.assume, keeps_loops=keeps, with_sizes=keeps)
        return way._replace(name="source", strategy=strategy)

    def _without_func(self, plain: Attempt | None) -> Attempt | None:
        """The capture without `torch.func`, where the one with it is not enough."""
        if plain is None:
            failed = self.failed is not None and self.failed.is_about_func()
            return self.first("torch.func") if failed else None
        lost = plain.lost_sizes(self.wanted)
        if not plain.has_unresolved_func(lost):
            return plain
        other = self.first("torch.func", must_work=False)
        return plain if other is None or other.lost_sizes(self.wanted) > lost else other

    def _may_decide(self) -> bool:
        """Whether the capture by source may succeed where the one as it is has failed."""
        return any(is_of_torch(e) or reads_value(e) is not None for e in self.errors)

    def first(
        self, how: str | Strategy, *, must_work: bool = True, ends: bool = False
    ) -> Attempt | None:
        """The first form of the inputs with which one way gives a program.

        Args:
            how: the way.
            must_work: whether what the way refuses by name is raised.
            ends: whether it ends at a decision by sizes, and goes on by source with both sides.
        """
        self.failed = None
        for way in self._forms(how):
            self.both = None if ends else self.both
            attempt = self._once(way, must_work=must_work, ends=ends)
            if attempt.ended is not None:
                self.both = self._once(self._by_source(way), must_work=False)
                if self._has_all(self.both):
                    return self.both
                before = len(self.errors)
                attempt = self._once(way, must_work=must_work)
                # What the capture as it is raises says more than what the one by source does.
                self.errors = [*self.errors[before:], *self.errors[:before]]
            if attempt.error is None:
                return attempt
            if not isinstance(way.strategy, Source) and reads_value(attempt.error) is not None:
                break  # the bounds of dimensions do not answer a question about a value
        return None

    def _has_all(self, attempt: Attempt) -> bool:
        """Whether a capture gave a program that is right at all sizes."""
        if attempt.error is not None or attempt.lost_sizes(self.wanted):
            return False
        return not attempt.limiting(self.wanted)

    def _once(self, way: Way, *, must_work: bool, ends: bool = False) -> Attempt:
        """One capture."""
        attempt = attempted(way, self.model, must_work=must_work, ends=ends)
        self.outcomes.append(attempt.outcome())
        self.loops.add(attempt.loops)
        if isinstance(way.strategy, Source):
            self.by_source = attempt
            self.loops.explain(way.strategy.unrolled)
        if attempt.error is not None:
            self.loops.refused(attempt.error)
            self.errors.append(attempt.error)
            self.failed = attempt
        return attempt

    def _forms(self, how: str | Strategy) -> Iterable[Way]:
        found = ways(self.wanted, how)
        if how != "source":
            return found
        return [self._by_source(way)._replace(name=way.name) for way in found]

    def result(self, found: Attempt) -> Capture:
        """What a capture gave, with the loops that could not be kept."""
        made = found.capture()
        found.output.replay()
        if found.lost_sizes(self.wanted):
            return dataclasses.replace(made, unrolled=self.loops.notes())
        return made

    def proposal(self) -> str:
        """What lets the capture by source succeed; empty where nothing is known."""
        if self.by_source is None or self.by_source.error is None:
            return ""
        way, error = self.by_source.way, self.by_source.error
        assert isinstance(way.strategy, Source)

        def run() -> None:
            run_unchanged(self.model, way.inputs.args, way.inputs.kwargs)

        return proposed(error, way.strategy.functions, run)
