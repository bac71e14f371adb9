"""A model as an ExportedProgram: captured by its source, or as it is where that is refused."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxwright.errors import ExportError
from onnxwright.exporter import checks
from onnxwright.exporter.capture.attempt import Attempt, Way, attempted
from onnxwright.exporter.capture.capture_errors import Outcome, raise_uncaptured
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.quantized.modules import holds_packed
from onnxwright.exporter.capture.session.errors import TextUsedError
from onnxwright.exporter.capture.session.torch_errors import is_about_quantized, reads_value
from onnxwright.exporter.capture.strategies import NAMED, Source, Strategy
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
    inputs: Wanted,
    how: str | Strategy,
    outcomes: list[Outcome],
    assume: Mapping[str, bool] | None = None,
) -> Capture:
    """Capture a model.

    With "auto" the model is captured by its source: decisions by values and by sizes, and loops,
    are part of the program. Where that is refused, the model is captured as it is.

    Args:
        model: a module.
        inputs: example inputs, and which dimensions are dynamic.
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
    captures = _Captures(model, inputs, outcomes, assume or {})
    attempt = _automatic(captures) if how == "auto" else captures.one(how)
    if attempt.error is not None:
        broadcasting = inputs.broadcasting()
        if broadcasting is not None and not reads_value(attempt.error):
            return capture(model, broadcasting, how, outcomes, assume)
        raise_uncaptured(captures.errors, outcomes)
    attempt.output.replay()
    return Capture(attempt, captures.notes() if attempt.lost_sizes() else ())


def _automatic(captures: _Captures) -> Attempt:
    """The capture by source; another one where that refuses the model."""
    if holds_packed(captures.model):
        return captures.one("quantized")
    by_source = captures.one("source", must_work=False)
    if by_source.error is None:
        return _without_func(captures, by_source)
    if isinstance(by_source.error, TextUsedError):
        return by_source  # the text is the name of a symbol in the capture as it is
    if is_about_quantized(by_source.error):
        return captures.one("quantized")
    plain = _without_func(captures, captures.one("non-strict"))
    if plain.error is None:
        return plain
    if not captures.may_decide():
        captures.forget_source()
    elif isinstance(by_source.error, ExportError):
        raise by_source.error
    return plain


def _without_func(captures: _Captures, attempt: Attempt) -> Attempt:
    """A capture; one without the transformations of torch.func where those are left in it."""
    if not attempt.needs_no_func():
        return attempt
    written = captures.one("torch.func", must_work=attempt.error is not None)
    if attempt.error is not None:
        return written
    is_worse = written.error is not None or written.lost_sizes() > attempt.lost_sizes()
    return attempt if is_worse else written


# How the reason begins where parts of dicts or tuples have different sizes.
_UNEVEN = "`an item of the list` is of one size"


def _with_advice(reason: str) -> str:
    """Why a loop cannot be kept, and what to write where there is something."""
    if _UNEVEN not in reason:
        return reason
    return (
        f"{reason}; return a list for each part (`boxes = [b[s > 0.5] for b, s in ...]`) in place "
        "of a list of dicts or tuples"
    )


@dataclass
class _Captures:
    """The captures of one model.

    Fields:
        model, inputs, outcomes, assume: as in `capture`.
        refused: what captures raised, and whether by source.
        unrolled: why loops over sizes are unrolled, by their lines.
    """

    model: Any
    inputs: Wanted
    outcomes: list[Outcome]
    assume: Mapping[str, bool]
    refused: list[tuple[bool, Exception]] = field(default_factory=list)
    unrolled: dict[tuple[str, int], str] = field(default_factory=dict)

    def one(self, how: str | Strategy, *, must_work: bool = True) -> Attempt:
        """One capture.

        Args:
            how: the way.
            must_work: whether what it refuses by name is raised.

        Raises:
            ExportError: what the way refuses by name.
            ExportValueError: the way is unknown (OW825).
        """
        way = self._way(how)
        attempt = attempted(way, self.model, self.inputs)
        if must_work and isinstance(attempt.error, ExportError):
            raise attempt.error
        self.outcomes.append(attempt.outcome())
        if attempt.source is not None:
            self.unrolled |= attempt.source.unrolled
        if attempt.error is not None:
            self.refused.append((attempt.source is not None, attempt.error))
        return attempt

    @property
    def errors(self) -> list[Exception]:
        """What captures raised; the capture as it is says more than the one by source."""
        return [error for _, error in sorted(self.refused, key=lambda one: one[0])]

    def notes(self) -> tuple[str, ...]:
        """A line of text for each loop over a size that is unrolled."""
        return tuple(
            f"a loop is unrolled: `{linecache.getline(*place).strip()}` "
            f"({Path(place[0]).name}:{place[1]}): {_with_advice(reason)}"
            for place, reason in self.unrolled.items()
        )

    def forget_source(self) -> None:
        """Leave out the capture by source, which says nothing of why the model fails."""
        self.refused = [one for one in self.refused if not one[0]]
        self.outcomes[:] = [one for one in self.outcomes if one.strategy != "source"]

    def _way(self, how: str | Strategy) -> Way:
        if callable(how):
            return Way(getattr(how, "__name__", "given function"), how)
        if how not in NAMED:
            strategy_names = ", ".join(repr(n) for n in ("auto", *NAMED))
            checks.raise_bad_argument(
                "capture",
                f"unknown strategy {shown(how)}",
                f"choose one of {strategy_names}, or give a function",
            )
        if how == "source":
            keeps = any(self.inputs.axes)
            return Way(how, Source(self.assume, keeps_loops=keeps, with_sizes=keeps))
        return Way(how, NAMED[how])

    def may_decide(self) -> bool:
        """Whether the model fails as it decides by values: not by an error of its own."""
        errors = [error for is_by_source, error in self.refused if not is_by_source]
        return any(is_of_torch(e) or reads_value(e) is not None for e in errors)
