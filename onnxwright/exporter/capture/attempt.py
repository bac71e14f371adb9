"""One capture of a model: what torch gave or raised, and what was recorded on the way."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_changes
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter import checks
from onnxwright.exporter.capture.assumptions.decisions import Decision, record_decisions
from onnxwright.exporter.capture.assumptions.demands import refuses_others
from onnxwright.exporter.capture.assumptions.excluded import excludes_larger, excludes_small
from onnxwright.exporter.capture.assumptions.guards import (
    SizeGuard,
    places_of,
    range_of_torch,
    sizes_of,
)
from onnxwright.exporter.capture.assumptions.joined_sides import SizeDecision
from onnxwright.exporter.capture.assumptions.specialization import (
    fixed_values,
    forward_ad_unwound,
    lost_constants,
)
from onnxwright.exporter.capture.control.errors import IteratorTakenError
from onnxwright.exporter.capture.control.keeping import Change, held_state_kept
from onnxwright.exporter.capture.drafts import draft
from onnxwright.exporter.capture.inputs.captured_sizes import (
    declared_ranges,
    fixed_axes,
    written_names,
)
from onnxwright.exporter.capture.inputs.equal_sizes import equal_sizes_checked
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.outcomes import Outcome, reason_of
from onnxwright.exporter.capture.quantized.modules import QuantizedValuesError, quantized_values
from onnxwright.exporter.capture.replacements import torch_func
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.capture.replacements.entries import changed
from onnxwright.exporter.capture.source.observing import ValueDecisions
from onnxwright.exporter.capture.strategies import Source, Strategy, non_strict, strict
from onnxwright.exporter.capture.torch_errors import is_about_fixed_size
from onnxwright.exporter.capture.torch_output import TorchOutput, capture_torch_output
from onnxwright.exporter.capture.unrolled_loops import Loops, record_loops
from onnxwright.exporter.capture.values.texts import Texts, record_texts
from onnxwright.exporter.places import line_of, span_of_error
from onnxwright.exporter.torch_lock import TORCH_LOCK


class Way(NamedTuple):
    """A way to capture a model.

    Fields:
        name: as the report has it.
        strategy: the function that captures.
    """

    name: str
    strategy: Strategy


class OneSideError(BaseException):
    """A capture that can have one side of a decision only has come to the decision.

    An `except Exception` of the program that is captured does not stop it.

    Args:
        decision: of Python.
    """

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"`{decision.expression}` is decided in {decision.file}:{decision.line}")


def _has_one_side(decision: Decision, known: Mapping[Any, Any]) -> bool:
    """Whether a capture that goes on after a decision is right for a part of the sizes only.

    Nothing is said of conditions on several sizes: the names of the user may say that these are
    equal.
    """
    symbols = decision.expression.free_symbols
    if len(symbols) != 1 or free_unbacked_symbols(decision.expression):
        return False
    if decision.demand or decision.by_operator or not decision.file:
        return False
    (symbol,) = symbols
    ranges = {str(symbol): range_of_torch(known.get(symbol))}
    guard = SizeGuard(decision.expression, "", None)
    if not excludes_larger(guard, ranges, ()) and not excludes_small(guard, ranges, ()):
        return False
    places = ((decision.file, decision.line), decision.asked)
    return not any(refuses_others(line_of(*place)) for place in places if place is not None)


@dataclass
class Attempt:
    """What one capture gave.

    Fields:
        way: the way.
        wanted: example inputs, and which dimensions were asked to be dynamic.
        output: what torch wrote.
        program: what it captured.
        error: why not, if it did not.
        seconds: how long it took.
        decisions: what Python of the user decided by sizes.
        changes: the numbers of Python that the module changed.
        texts: the lines that make a text of a number of run time.
        loops: the functions whose loops made numbers of sizes.
        forward_derivatives: the levels of torch.func that computed them.
        ended: the decision by sizes at which it ended, to be captured with both of its sides.
    """

    way: Way
    wanted: Wanted
    output: TorchOutput
    program: Any = None
    error: Exception | None = None
    seconds: float = 0.0
    decisions: list[Decision] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    loops: Loops = field(default_factory=Loops)
    texts: Texts = field(default_factory=dict)
    forward_derivatives: list[int] = field(default_factory=list)
    ended: OneSideError | None = None

    @property
    def source(self) -> Source | None:
        """What a capture by source recorded; None for another one."""
        return self.way.strategy if isinstance(self.way.strategy, Source) else None

    @property
    def by_values(self) -> ValueDecisions:
        """What the program decides by values."""
        return ValueDecisions() if self.source is None else self.source.decisions

    @property
    def by_sizes(self) -> tuple[SizeDecision, ...]:
        """The decisions by sizes that the program has both sides of."""
        return () if self.source is None else self.source.sizes

    def end(self, decision: Decision, ranges: Mapping[Any, Any]) -> None:
        """End the capture where it is right for a part of the sizes only.

        Args:
            decision: a decision by sizes that it came to.
            ranges: torch's symbols -> their ranges before it.

        Raises:
            OneSideError: it does.
        """
        if _has_one_side(decision, ranges):
            self.ended = self.ended or OneSideError(decision)
            raise self.ended

    def outcome(self) -> Outcome:
        """The line of the report."""
        error = self.ended or self.error
        reason = "" if error is None else reason_of(error)
        if self.source is None:
            return Outcome(self.way.name, self.seconds, reason, self.output.text)
        choices, rewritten = self.source.choices, self.source.rewritten
        return Outcome(self.way.name, self.seconds, reason, self.output.text, choices, rewritten,
                       self.source.answered)  # fmt: skip

    def limiting(self) -> list[SizeGuard]:
        """The decisions by sizes of which one side was captured: other sizes are excluded."""
        if not any(self.wanted.axes):
            return []
        names = written_names(self.wanted, places_of(self.program))
        ranges = declared_ranges(self.program, self.wanted)
        found = sizes_of(self.program, names, ranges, names, self.decisions).decisions()
        return [g for g in found if g.span is not None and not g.by_operator]

    def lost_sizes(self) -> int:
        """How many sizes that were asked to be dynamic are numbers, or are bound by a loop."""
        if not any(self.wanted.axes):
            return 0
        fixed = len(fixed_axes(self.program, self.wanted)) + len(fixed_values(self.program))
        return fixed + self.loops.assumed(self.decisions)

    def needs_no_func(self) -> bool:
        """Whether the model is captured anew without its transformations of torch.func."""
        error = self.error
        if error is not None:
            if self.forward_derivatives and is_about_fixed_size(error):
                return True  # some rules of forward derivatives read sizes as integers
            return isinstance(error, LostConstantError) or torch_func.comes_from_it(error)
        if self.way.strategy is not non_strict or not torch_func.is_used(self.program):
            return False
        fixed = bool(self.forward_derivatives and self.lost_sizes())
        return fixed or self.wanted.for_torch() is not self.wanted or not _is_resolved(self.program)


def attempted(way: Way, model: Any, wanted: Wanted, *, ends: bool = False) -> Attempt:
    """Capture a model.

    Args:
        way: the way.
        model: a module.
        wanted: example inputs, and which dimensions are dynamic.
        ends: whether it ends at a decision by sizes of which it can have one side only.

    Returns:
        What it gave, or the error it raised.
    """
    begun = time.perf_counter()
    with TORCH_LOCK, capture_torch_output() as output:
        found = Attempt(way, wanted, output)
        try:
            found.program = _captured(found, model, ends)
        except OneSideError as ended:
            found.ended = ended
        except Exception as error:  # noqa: BLE001 - torch raises many kinds; all are reported
            found.error = error
    found.seconds = time.perf_counter() - begun
    return found


def _captured(found: Attempt, module: Any, ends: bool) -> ExportedProgram:
    """What one way gives; what was recorded is added to the attempt.

    Raises:
        ExportError: what the way refuses by name.
        ExportValueError: it is a function that gave no program (OW825).
    """
    way, given = found.way, found.wanted.for_torch()
    try:

        def record(changes: Changes, _: Any) -> None:
            record_texts(changes, found.texts)
            torch_func.note_forward_derivatives(changes, found.forward_derivatives)
            if way.strategy is not draft:  # which names the lines of what it assumes itself
                record_loops(changes, found.loops)
                record_decisions(changes, found.decisions, found.end if ends else None)

        # TorchDynamo reads the bytecode of functions: those of a strict capture run as they are.
        kept = held_state_kept(module, found.changes, converts=way.strategy is not strict)
        equal = nullcontext() if given is found.wanted else equal_sizes_checked(module, given)
        with TORCH_LOCK, changed("every", module, record), warnings.catch_warnings(), equal, kept:
            # What is kept is reported with its line (OW839), or nobody reads it.
            warnings.filterwarnings(
                "ignore", r"The tensor attributes? .* assigned during export", UserWarning
            )
            program = way.strategy(module, given.args, given.kwargs, given.dynamic_shapes)
    except IteratorTakenError as error:
        span = span_of_error(error) or user_span()
        fail(export_changes.UsedUpByExport(kind=error.kind, span=span))
    if not isinstance(program, ExportedProgram):
        checks.raise_bad_argument(
            "capture",
            f"`{way.name}` gave an object of type {type(program).__name__}",
            "the function returns what `torch.export.export` gives, an `ExportedProgram`",
        )
    lost = lost_constants(program)
    if lost:
        raise LostConstantError(lost[0])
    if quantized_values(program):
        raise QuantizedValuesError("the program has values of a quantized type")
    return program


class LostConstantError(RuntimeError):
    """A captured program has a constant without numbers, in the place of something computed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"PyTorch does not see what `{name}` is computed from")


def _is_resolved(program: ExportedProgram) -> bool:
    """Whether torch can write a program without the transformations of torch.func in it."""
    try:
        with TORCH_LOCK, capture_torch_output(), forward_ad_unwound():
            program.run_decompositions({})
    except Exception:  # noqa: BLE001 - torch raises many kinds
        return False
    return True
