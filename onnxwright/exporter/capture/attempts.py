"""A model as an ExportedProgram: ways to capture, tried in a stated order, each one recorded."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from torch.export import ExportedProgram

from onnxwright.errors import ExportError
from onnxwright.exporter import checks
from onnxwright.exporter.capture import torch_func
from onnxwright.exporter.capture.capture_errors import raise_uncaptured
from onnxwright.exporter.capture.decisions import Decision, decisions_recorded
from onnxwright.exporter.capture.drafts import draft
from onnxwright.exporter.capture.held_state import Change, held_state_kept, run_unchanged
from onnxwright.exporter.capture.outcomes import Outcome, reason_of
from onnxwright.exporter.capture.patches import torch_patched
from onnxwright.exporter.capture.quantized.modules import (
    QuantizedValuesError,
    holds_packed,
    quantized_values,
)
from onnxwright.exporter.capture.shapes import Wanted, fixed_axes
from onnxwright.exporter.capture.source.conversions import Conversions, conversions_recorded
from onnxwright.exporter.capture.source.functions import (
    Rewritten,
    has_deciding_frame,
    is_about_fixed_size,
)
from onnxwright.exporter.capture.source.observing import ValueDecisions
from onnxwright.exporter.capture.source.proposing import Failure, Proposal, proposed
from onnxwright.exporter.capture.source.strategy import rewritten_conversions
from onnxwright.exporter.capture.specialization import (
    fixed_values,
    forward_ad_unwound,
    lost_constants,
)
from onnxwright.exporter.capture.strategies import (
    NAMED,
    STRATEGIES,
    Source,
    Strategy,
    non_strict,
    strict,
    substitutes,
    with_torch_func,
)
from onnxwright.exporter.capture.torch_output import TorchOutput, capture_torch_output
from onnxwright.exporter.capture.unrolled_loops import Loops, loops_recorded, with_loops
from onnxwright.exporter.torch_lock import TORCH_LOCK


@dataclass(frozen=True)
class Capture:
    """A captured program.

    Fields:
        program: the program.
        relaxed: whether torch found the bounds of named dimensions by itself.
        decisions: what Python of the user decided by sizes.
        changes: the numbers of Python that the module changed.
        by_values: what it decides by values.
        unrolled: the loops that make numbers of dynamic sizes, as text.
        way: what captured it.
    """

    program: ExportedProgram
    relaxed: bool
    decisions: tuple[Decision, ...]
    changes: tuple[Change, ...] = ()
    by_values: ValueDecisions = field(default_factory=ValueDecisions)
    unrolled: tuple[str, ...] = ()
    way: Strategy | None = None


# A way to try: name, function, inputs, whether bounds are torch's.
Way = tuple[str, Strategy, Wanted, bool]


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
        ExportValueError: there is no such strategy, or a function gave no program (OW825).
    """
    errors: list[Exception] = []
    failed: list[tuple[Failure, Wanted]] = []
    second: Capture | None = None
    kept, least = Loops(), 0
    converting: Conversions = {}
    quantized = how == "auto" and holds_packed(model)
    waiting = _ways(wanted, "quantized" if quantized else how)
    if how == "source":
        waiting = _sources(wanted, None, assume)
    while waiting or converting:
        if not waiting:
            waiting = _sources(wanted, None, assume, rewritten_conversions(converting))
            converting = {}
        name, way, inputs, relaxed = waiting.pop(0)
        if second is not None and not _may_keep_sizes(way):
            continue
        tried = _tried_once(way, model, inputs, must_work=second is None)
        outcomes.append(tried.outcome(name, way))
        if way is non_strict and how == "auto":
            converting = converting or tried.conversions
        if tried.error is not None:
            errors.append(tried.error)
            failed += _failure(way, tried.error, tried.seconds, inputs)
            kept.refused(tried.error)
            if second is None:
                if how == "auto" and not waiting and not isinstance(way, Source):
                    waiting = _after_errors(errors, wanted, assume)
                    converting = {} if waiting else converting
                waiting = _ways_for(tried, way, how, wanted, assume) + waiting
            continue
        found = tried.capture(name, way, relaxed)
        with_func = way is non_strict and torch_func.is_used(found.program)
        unfinished = with_func and (relaxed or not _is_resolved(found.program))
        loss = _lost_sizes(found, wanted, tried.loops)
        unrolled = _unrolled(tried, way, how) if loss else None
        if way is draft:
            return found
        if unrolled is None and not (how == "auto" and (unfinished or fixed_values(found.program))):
            tried.output.replay()
            return found
        kept.add(tried.loops, way.unrolled if isinstance(way, Source) else {})
        # Sizes became numbers of Python; loops over them, and tracing of Python, may keep them.
        if second is None or loss < least:
            second, least = found, loss
        if with_func:
            waiting = _ways(wanted, "torch.func") + waiting
        if unrolled is not None:
            others = [w for w in waiting if not isinstance(w[1], Source)]
            waiting = _sources(wanted, None, assume, unrolled, keeps_loops=True) + others
    if second is not None:
        return dataclasses.replace(second, unrolled=kept.notes())
    raise_uncaptured(errors, outcomes, _proposed(model, failed, assume or {}))


@dataclass(frozen=True)
class Again:
    """What one way gave when it was tried again; `capture` is None where it failed."""

    capture: Capture | None
    error: Exception | None
    seconds: float


def captured_by(way: Strategy, model: Any, wanted: Wanted, relaxed: bool) -> Again:
    """Capture a model once more, by a way that worked.

    Args:
        way: the way.
        model: a module.
        wanted: other inputs of it.
        relaxed: whether torch finds the bounds of named dimensions.
    """
    tried = _tried_once(way, model, wanted, must_work=False)
    found = None
    if tried.error is None and isinstance(tried.program, ExportedProgram):
        found = tried.capture("", way, relaxed)
    return Again(found, tried.error, tried.seconds)


def _may_keep_sizes(way: Strategy) -> bool:
    """Whether a way may keep a size dynamic that a capture without tracing of Python fixes."""
    return way in (strict, substitutes, with_torch_func) or isinstance(way, Source)


@dataclass
class _Try:
    """What one way gave.

    Fields:
        program: what it captured.
        error: why not, if it did not.
        seconds: how long it took.
        output: what torch wrote.
        decisions, changes: as in `Capture`.
        loops: the functions whose loops made numbers of sizes.
        conversions: the functions that took a size as a number.
    """

    output: TorchOutput
    program: Any = None
    error: Exception | None = None
    seconds: float = 0.0
    decisions: list[Decision] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    loops: Loops = field(default_factory=Loops)
    conversions: Conversions = field(default_factory=dict)

    def outcome(self, name: str, way: Strategy) -> Outcome:
        """The line of the report."""
        reason = "" if self.error is None else reason_of(self.error)
        found = Outcome(name, self.seconds, reason, self.output.text)
        if not isinstance(way, Source):
            return found
        return dataclasses.replace(
            found, choices=way.choices, rewritten=way.rewritten, answered=way.answered
        )

    def capture(self, name: str, way: Strategy, relaxed: bool) -> Capture:
        """The captured program."""
        program = _checked(self.program, name)
        found = Capture(program, relaxed, tuple(self.decisions), tuple(self.changes), way=way)
        if isinstance(way, Source):
            found = dataclasses.replace(found, by_values=way.decisions)
        return found


def _tried_once(way: Strategy, model: Any, inputs: Wanted, must_work: bool) -> _Try:
    """Try one way; what it refuses by name is raised if there is no program yet."""
    begun = time.perf_counter()
    with TORCH_LOCK, capture_torch_output() as output:
        found = _Try(output)
        try:
            # A draft names the lines of what it assumes by its own stack.
            recorded = nullcontext() if way is draft else loops_recorded(found.loops)
            with recorded, conversions_recorded() as found.conversions:
                found.program, found.error = _tried(
                    way, model, inputs, found.decisions, found.changes
                )
        except ExportError as refused:
            if must_work:
                raise
            found.error = refused
    found.seconds = time.perf_counter() - begun
    return found


def _unrolled(tried: _Try, way: Strategy, how: str | Strategy) -> Rewritten | None:
    """The functions to rewrite, so that loops over sizes are kept; None if there is nothing new."""
    if how not in ("auto", "source") or way is strict:
        return None
    return with_loops(tried.loops, way.functions if isinstance(way, Source) else None)


def _after_errors(
    errors: list[Exception], wanted: Wanted, assume: Mapping[str, bool] | None
) -> list[Way]:
    """The capture by source, if the last error of a value that Python reads is of the model."""
    first = next((e for e in reversed(errors) if has_deciding_frame(e)), None)
    return [] if first is None else _sources(wanted, first, assume)


def _ways_for(
    tried: _Try,
    way: Strategy,
    how: str | Strategy,
    wanted: Wanted,
    assume: Mapping[str, bool] | None,
) -> list[Way]:
    """The ways that are made for what stopped a capture."""
    assert tried.error is not None
    if wanted.relaxed() is None and is_about_fixed_size(tried.error):
        functions = _unrolled(tried, way, how)
        if functions is not None:
            return _sources(wanted, None, assume, functions, keeps_loops=True)[:1]
    if how != "auto" or way is not non_strict:
        return []
    if _is_about_func(tried.error):
        return _ways(wanted, "torch.func")
    return _ways(wanted, "quantized") if _is_about_quantized(tried.error) else []


def _failure(
    way: Strategy, error: Exception, seconds: float, inputs: Wanted
) -> list[tuple[Failure, Wanted]]:
    """The failure of a capture by source; nothing for other ways."""
    return [(Failure(error, way.functions, seconds), inputs)] if isinstance(way, Source) else []


def _proposed(
    model: Any, failed: list[tuple[Failure, Wanted]], assume: Mapping[str, bool]
) -> Proposal:
    """What lets a capture by source succeed: that of the first form of the inputs."""
    if not failed:
        return Proposal(0)
    failure, inputs = failed[0]

    def run() -> None:
        run_unchanged(model, inputs.args, inputs.kwargs)

    def attempt(answers: Mapping[str, bool], functions: Rewritten) -> Failure | None:
        way = Source(None, {**assume, **answers}, functions)
        begun = time.perf_counter()
        error: BaseException | None
        with TORCH_LOCK, capture_torch_output():
            try:
                _, error = _tried(way, model, inputs, [], [])
            except ExportError as refused:
                error = refused
        seconds = time.perf_counter() - begun
        return None if error is None else Failure(error, way.functions, seconds)

    return proposed(failure, run, attempt)


def _ways(wanted: Wanted, how: str | Strategy) -> list[Way]:
    """The ways to try, in order: name, function, inputs, whether bounds are torch's."""
    if callable(how):
        return [(getattr(how, "__name__", "given function"), how, wanted, False)]
    if how != "auto" and how not in NAMED:
        known = ", ".join(repr(n) for n in ("auto", *NAMED))
        checks.raise_bad_argument(
            "capture",
            f"unknown strategy {how!r}",
            f"choose one of {known}, or give a function",
        )
    found: list[Way] = []
    relaxed, broadcasting = wanted.relaxed(), wanted.broadcasting()
    for name, way in STRATEGIES.items() if how == "auto" else ((how, NAMED[how]),):
        found.append((name, way, wanted, False))
        if relaxed is not None:
            found.append((f"{name}, bounds by torch", way, relaxed, True))
        if broadcasting is not None:
            found.append((f"{name}, sizes of 1 fixed", way, broadcasting, False))
    return found


def _sources(
    wanted: Wanted,
    first: Exception | None,
    assume: Mapping[str, bool] | None,
    functions: Rewritten | None = None,
    *,
    keeps_loops: bool = False,
) -> list[Way]:
    """The capture by source, with all forms of the inputs."""
    ways = _ways(wanted, "source")
    return [
        (name, Source(first, assume, functions, keeps_loops), inputs, relaxed)
        for name, _, inputs, relaxed in ways
    ]


def _lost_sizes(found: Capture, wanted: Wanted, loops: Loops) -> int:
    """How many sizes that were asked to be dynamic are numbers, or are bound by a loop."""
    if not any(wanted.axes):
        return 0
    fixed = len(fixed_axes(found.program, wanted)) + len(fixed_values(found.program))
    return fixed + loops.assumed(found.decisions)


def _tried(
    way: Strategy, module: Any, wanted: Wanted, decisions: list[Decision], changes: list[Change]
) -> tuple[Any, Any]:
    """What one way gives, or the error it raises."""
    try:
        recorded = nullcontext() if way is draft else decisions_recorded(decisions)
        with torch_patched(), recorded, held_state_kept(module, changes):
            program = way(module, wanted.args, wanted.kwargs, wanted.dynamic_shapes)
        lost = lost_constants(program) if isinstance(program, ExportedProgram) else []
        if lost:
            return None, LostConstantError(lost[0])
        if isinstance(program, ExportedProgram) and quantized_values(program):
            return None, QuantizedValuesError("the program has values of a quantized type")
        return program, None
    except ExportError:
        raise  # what is refused by name has no other way
    except Exception as error:  # noqa: BLE001 - torch raises many kinds; all are reported
        return None, error


class LostConstantError(RuntimeError):
    """A captured program has a constant without numbers, in the place of something computed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"PyTorch does not see what `{name}` is computed from")


def _is_about_func(error: Exception) -> bool:
    return isinstance(error, LostConstantError) or torch_func.comes_from_it(error)


def _is_resolved(program: ExportedProgram) -> bool:
    """Whether torch can write a program without the transformations of torch.func in it."""
    try:
        with TORCH_LOCK, capture_torch_output(), forward_ad_unwound():
            program.run_decompositions({})
    except Exception:  # noqa: BLE001 - torch raises many kinds
        return False
    return True


def _is_about_quantized(error: Exception) -> bool:
    """Whether a quantized tensor is what torch cannot capture."""
    signs = ("quantize", "Quantize", "quint8", "qint8", "qint32", "int_repr", "q_scale")
    return any(sign in str(error) for sign in signs)


def _checked(program: Any, name: str) -> ExportedProgram:
    """What a way to capture gave, if it is a program."""
    if isinstance(program, ExportedProgram):
        return program
    checks.raise_bad_argument(
        "capture",
        f"`{name}` gave an object of type {type(program).__name__}",
        "the function returns what `torch.export.export` gives, an `ExportedProgram`",
    )
