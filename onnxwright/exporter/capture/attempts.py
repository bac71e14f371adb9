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
from onnxwright.exporter.capture.shapes import Wanted
from onnxwright.exporter.capture.source.conversions import Conversions, conversions_recorded
from onnxwright.exporter.capture.source.functions import Rewritten, has_deciding_frame
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
from onnxwright.exporter.capture.torch_output import capture_torch_output
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
    """

    program: ExportedProgram
    relaxed: bool
    decisions: tuple[Decision, ...]
    changes: tuple[Change, ...] = ()
    by_values: ValueDecisions = field(default_factory=ValueDecisions)


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
    converting: Conversions = {}
    quantized = how == "auto" and holds_packed(model)
    waiting = _ways(wanted, "quantized" if quantized else how)
    if how == "source":
        waiting = _sources(wanted, None, assume)
    while waiting or converting:
        if not waiting:
            waiting, converting = _sources(wanted, None, assume, converting), {}
        name, way, inputs, relaxed = waiting.pop(0)
        if second is not None and not _may_keep_sizes(way):
            continue
        begun = time.perf_counter()
        with TORCH_LOCK, capture_torch_output() as output:
            decisions: list[Decision] = []
            changes: list[Change] = []
            with conversions_recorded() as conversions:
                program, error = _tried(way, model, inputs, decisions, changes)
        seconds = time.perf_counter() - begun
        outcomes.append(_outcome(name, way, error, seconds, output.text))
        if way is non_strict and how == "auto":
            converting = converting or conversions
        if error is not None:
            errors.append(error)
            failed += _failure(way, error, seconds, inputs)
            if how == "auto" and not waiting and not isinstance(way, Source):
                first = next((e for e in reversed(errors) if has_deciding_frame(e)), None)
                if first is not None and second is None:
                    waiting, converting = _sources(wanted, first, assume), {}
            if how == "auto" and way is non_strict:
                waiting = _ways_for(error, wanted) + waiting
            continue
        found = Capture(_checked(program, name), relaxed, tuple(decisions), tuple(changes))
        if isinstance(way, Source):
            found = dataclasses.replace(found, by_values=way.decisions)
        with_func = way is non_strict and torch_func.is_used(found.program)
        lost = fixed_values(found.program) or (
            with_func and (relaxed or not _is_resolved(found.program))
        )
        if way is draft:
            return found
        if how != "auto" or not lost:
            output.replay()
            return found
        # Sizes became numbers of Python; tracing of Python may keep them.
        second = second or found
        if with_func:
            waiting = _ways(wanted, "torch.func") + waiting
    if second is not None:
        return second
    raise_uncaptured(errors, outcomes, _proposed(model, failed, assume or {}))


def _outcome(
    name: str, way: Strategy, error: Exception | None, seconds: float, output: str
) -> Outcome:
    """What became of a way, for the report."""
    made = Outcome(name, seconds, "" if error is None else reason_of(error), output)
    if not isinstance(way, Source):
        return made
    return dataclasses.replace(
        made, choices=way.choices, rewritten=way.rewritten, answered=way.answered
    )


def _may_keep_sizes(way: Strategy) -> bool:
    """Whether a way may keep a size dynamic that a capture without tracing of Python fixes."""
    return way in (strict, substitutes, with_torch_func) or isinstance(way, Source)


def _ways_for(error: Exception, wanted: Wanted) -> list[tuple[str, Strategy, Wanted, bool]]:
    """The ways that are made for what stopped a capture."""
    if _is_about_func(error):
        return _ways(wanted, "torch.func")
    return _ways(wanted, "quantized") if _is_about_quantized(error) else []


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


def _ways(wanted: Wanted, how: str | Strategy) -> list[tuple[str, Strategy, Wanted, bool]]:
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
    found: list[tuple[str, Strategy, Wanted, bool]] = []
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
    converting: Conversions | None = None,
) -> list[tuple[str, Strategy, Wanted, bool]]:
    """The capture by source, with all forms of the inputs."""
    ways = _ways(wanted, "source")
    return [
        (name, Source(first, assume, rewritten_conversions(converting or {})), inputs, relaxed)
        for name, _, inputs, relaxed in ways
    ]


def _tried(
    way: Strategy, module: Any, wanted: Wanted, decisions: list[Decision], changes: list[Change]
) -> tuple[Any, Any]:
    """What one way gives, or the error it raises."""
    try:
        # A draft names the lines of what it assumes by its own stack.
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
