"""A model as an ExportedProgram: captured as it is, and by its source where that is not enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxwright.errors import ExportError
from onnxwright.exporter import checks
from onnxwright.exporter.capture.assumptions.specialization import fixed_values
from onnxwright.exporter.capture.attempt import Attempt, Way, attempted
from onnxwright.exporter.capture.capture_errors import raise_uncaptured
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.outcomes import Outcome
from onnxwright.exporter.capture.quantized.modules import holds_packed
from onnxwright.exporter.capture.source.errors import TextUsedError
from onnxwright.exporter.capture.strategies import NAMED, Source, Strategy
from onnxwright.exporter.capture.torch_errors import is_about_quantized, reads_value
from onnxwright.exporter.capture.unrolled_loops import Loops
from onnxwright.exporter.places import is_of_torch
from onnxwright.exporter.shown import shown


@dataclass(frozen=True)
class Capture:
    """A captured program.

    Fields:
        attempt: what captured it.
        unrolled: the loops that make numbers of dynamic sizes, as text.
    """

    attempt: Attempt
    unrolled: tuple[str, ...] = ()


def capture(
    model: Any,
    wanted: Wanted,
    how: str | Strategy,
    outcomes: list[Outcome],
    assume: Mapping[str, bool] | None = None,
) -> Capture:
    """Capture a model.

    With "auto" the model is captured as it is. Where Python reads a value, decides by a size, or
    makes a number of a size that was asked to be dynamic, it is captured by its source.

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
    found = _automatic(captures) if how == "auto" else captures.one(how)
    if found.error is not None:
        broadcasting = wanted.broadcasting()
        if broadcasting is not None and not reads_value(found.error):
            return capture(model, broadcasting, how, outcomes, assume)
        raise_uncaptured(captures.errors, outcomes)
    found.output.replay()
    return Capture(found, captures.loops.notes() if found.lost_sizes() else ())


def _automatic(captures: _Captures) -> Attempt:
    """The capture as it is, or by source where that keeps more; one with an error if both fail."""
    packed = holds_packed(captures.model)
    as_it_is = "quantized" if packed else "non-strict"
    plain = captures.one(as_it_is, ends=any(captures.wanted.axes) and not packed)
    both: Attempt | None = None
    if plain.ended is not None:
        both = captures.by_source()
        if both.error is None and not both.lost_sizes():
            return both
        plain = captures.one(as_it_is)
    if not packed and is_about_quantized(plain.error):
        plain = captures.one("quantized")
    if plain.needs_no_func():
        written = captures.one("torch.func", must_work=plain.error is not None)
        if plain.error is not None or not _is_worse(written, plain):
            plain = written
    if plain.error is not None:
        return captures.one("source") if captures.may_decide() else plain
    if not captures.is_limited(plain):
        return plain
    by_source = both or captures.by_source()
    if isinstance(by_source.error, TextUsedError):
        return by_source  # the text is the name of a symbol in the capture as it is
    if _is_worse(by_source, plain):
        return plain
    if plain.texts or by_source.lost_sizes() < plain.lost_sizes():
        return by_source
    return by_source if len(by_source.limiting()) < len(plain.limiting()) else plain


def _is_worse(other: Attempt, plain: Attempt) -> bool:
    """Whether a capture failed, or has more sizes as numbers than another one."""
    return other.error is not None or other.lost_sizes() > plain.lost_sizes()


@dataclass
class _Captures:
    """The captures of one model.

    Fields:
        model, wanted, outcomes, assume: as in `capture`.
        refused: what captures raised, and whether by source.
        loops: the loops that made numbers of sizes.
    """

    model: Any
    wanted: Wanted
    outcomes: list[Outcome]
    assume: Mapping[str, bool]
    refused: list[tuple[bool, Exception]] = field(default_factory=list)
    loops: Loops = field(default_factory=Loops)

    def one(self, how: str | Strategy, *, must_work: bool = True, ends: bool = False) -> Attempt:
        """One capture.

        Args:
            how: the way.
            must_work: whether what it refuses by name is raised.
            ends: whether it ends at a decision by sizes of which it can have one side only.

        Raises:
            ExportError: what the way refuses by name.
            ExportValueError: the way is unknown (OW825).
        """
        way = self._way(how)
        found = attempted(way, self.model, self.wanted, ends=ends)
        if must_work and isinstance(found.error, ExportError):
            raise found.error
        self.outcomes.append(found.outcome())
        self.loops.add(found.loops)
        if found.source is not None:
            self.loops.explain(found.source.unrolled)
        if found.error is not None:
            self.loops.refused(found.error)
            self.refused.append((found.source is not None, found.error))
        return found

    @property
    def errors(self) -> list[Exception]:
        """What captures raised; the capture as it is says more than the one by source."""
        return [error for _, error in sorted(self.refused, key=lambda one: one[0])]

    def by_source(self) -> Attempt:
        """A capture by source that may fail."""
        return self.one("source", must_work=False)

    def _way(self, how: str | Strategy) -> Way:
        if callable(how):
            return Way(getattr(how, "__name__", "given function"), how)
        if how not in NAMED:
            known = ", ".join(repr(n) for n in ("auto", *NAMED))
            checks.raise_bad_argument(
                "capture",
                f"unknown strategy {shown(how)}",
                f"choose one of {known}, or give a function",
            )
        if how == "source":
            keeps = any(self.wanted.axes)
            return Way(how, Source(self.assume, keeps_loops=keeps, with_sizes=keeps))
        return Way(how, NAMED[how])

    def is_limited(self, plain: Attempt) -> bool:
        """Whether the capture by source may keep more than the one as it is."""
        # Where no size was asked to be dynamic, a loop over one that is may be unrolled.
        fixed = not self.loops.lines and fixed_values(plain.program)
        return bool(plain.lost_sizes() or plain.texts or fixed or plain.limiting())

    def may_decide(self) -> bool:
        """Whether the capture by source may succeed where the one as it is has failed."""
        return any(is_of_torch(e) or reads_value(e) is not None for e in self.errors)
