"""One attempt to capture a model: what torch gave or raised, and what was recorded on the way."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_changes
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import ExportError
from onnxwright.exporter import checks
from onnxwright.exporter.capture.assumptions.decisions import Decision, decisions_recorded
from onnxwright.exporter.capture.assumptions.guards import SizeGuard, places_of, sizes_of
from onnxwright.exporter.capture.assumptions.one_sided import OneSideError, has_one_side
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
from onnxwright.exporter.capture.replacements.entries import changed
from onnxwright.exporter.capture.source.observing import ValueDecisions
from onnxwright.exporter.capture.source.size_sides import SizeDecision
from onnxwright.exporter.capture.strategies import Source, non_strict, strict
from onnxwright.exporter.capture.torch_errors import is_about_fixed_size
from onnxwright.exporter.capture.torch_output import TorchOutput, capture_torch_output
from onnxwright.exporter.capture.unrolled_loops import Loops, loops_recorded
from onnxwright.exporter.capture.values.texts import Texts, texts_recorded
from onnxwright.exporter.capture.ways import Way
from onnxwright.exporter.places import span_of_error
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
        texts: the lines that make a text of a number of run time.
        way: what captured it.
        by_sizes: the decisions by sizes that it has both sides of.
    """

    program: ExportedProgram
    relaxed: bool
    decisions: tuple[Decision, ...]
    changes: tuple[Change, ...] = ()
    by_values: ValueDecisions = field(default_factory=ValueDecisions)
    unrolled: tuple[str, ...] = ()
    texts: Texts = field(default_factory=dict)
    way: Way | None = None
    by_sizes: tuple[SizeDecision, ...] = ()


@dataclass
class Attempt:
    """What one way to capture gave.

    Fields:
        way: the way.
        output: what torch wrote.
        program: what it captured.
        error: why not, if it did not.
        seconds: how long it took.
        decisions, changes, texts: as in `Capture`.
        loops: the functions whose loops made numbers of sizes.
        forward_derivatives: the levels of torch.func that computed them.
        ended: the decision by sizes at which it ended, to be captured with both of its sides.
    """

    way: Way
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

    def end(self, decision: Decision, ranges: Mapping[Any, Any]) -> None:
        """End the capture where it is right for a part of the sizes only.

        Args:
            decision: a decision by sizes that it came to.
            ranges: torch's symbols -> their ranges before it.

        Raises:
            OneSideError: it does.
        """
        if has_one_side(decision, ranges):
            self.ended = self.ended or OneSideError(decision)
            raise self.ended

    def outcome(self) -> Outcome:
        """The line of the report."""
        error = self.ended or self.error
        reason = "" if error is None else reason_of(error)
        found = Outcome(self.way.name, self.seconds, reason, self.output.text)
        source = self.way.strategy
        if not isinstance(source, Source):
            return found
        return dataclasses.replace(
            found, choices=source.choices, rewritten=source.rewritten, answered=source.answered
        )

    def capture(self) -> Capture:
        """The captured program."""
        program = _checked(self.program, self.way.name)
        decisions, changes = tuple(self.decisions), tuple(self.changes)
        found = Capture(program, self.way.relaxed, decisions, changes, way=self.way)
        if isinstance(self.way.strategy, Source):
            source = self.way.strategy
            found = dataclasses.replace(found, by_values=source.decisions, by_sizes=source.sizes)
        return dataclasses.replace(found, texts=self.texts)

    def limiting(self, wanted: Wanted) -> list[SizeGuard]:
        """The decisions by sizes of which one side was captured: other sizes are excluded.

        Args:
            wanted: example inputs, and which dimensions are dynamic.
        """
        if not any(wanted.axes):
            return []
        names = written_names(wanted, places_of(self.program))
        ranges = declared_ranges(self.program, wanted)
        found = sizes_of(self.program, names, ranges, names, self.decisions).decisions()
        return [g for g in found if g.span is not None and not g.small and not g.by_operator]

    def is_about_func(self) -> bool:
        """Whether torch.func is what torch cannot capture."""
        error = self.error
        if self.forward_derivatives and is_about_fixed_size(error):
            return True  # some rules of forward derivatives read sizes as integers
        return isinstance(error, LostConstantError) or (
            error is not None and torch_func.comes_from_it(error)
        )

    def uses_func(self) -> bool:
        """Whether the program has transformations of torch.func."""
        return self.way.strategy is non_strict and torch_func.is_used(self.program)

    def has_unresolved_func(self, lost: int) -> bool:
        """Whether the program has transformations of torch.func that torch may not write out.

        Args:
            lost: how many dynamic sizes it lost, maybe to rules of forward derivatives.
        """
        if not self.uses_func():
            return False
        fixed = bool(lost and self.forward_derivatives)
        return fixed or self.way.relaxed or not _is_resolved(self.program)

    def lost_sizes(self, wanted: Wanted) -> int:
        """How many sizes that were asked to be dynamic are numbers, or are bound by a loop."""
        if not any(wanted.axes):
            return 0
        fixed = len(fixed_axes(self.program, wanted)) + len(fixed_values(self.program))
        return fixed + self.loops.assumed(self.decisions)


def attempted(way: Way, model: Any, *, must_work: bool, ends: bool = False) -> Attempt:
    """Try one way.

    Args:
        way: the way.
        model: a module.
        must_work: whether what the way refuses by name is raised.
        ends: whether it ends at a decision by sizes of which it can have one side only.

    Returns:
        What it gave, or the error it raised.
    """
    begun = time.perf_counter()
    with TORCH_LOCK, capture_torch_output() as output:
        found = Attempt(way, output)
        try:
            # A draft names the lines of what it assumes by its own stack.
            recorded = nullcontext() if way.strategy is draft else loops_recorded(found.loops)
            with (
                recorded,
                texts_recorded(found.texts),
                torch_func.forward_derivatives_noted() as found.forward_derivatives,
            ):
                found.program, found.error = _captured(found, model, ends)
        except OneSideError as ended:
            found.ended = ended
        except ExportError as refused:
            if must_work:
                raise
            found.error = refused
    found.seconds = time.perf_counter() - begun
    return found


def _captured(found: Attempt, module: Any, ends: bool) -> tuple[Any, Exception | None]:
    """What one way gives, or the error it raises; what was recorded is added to the attempt.

    Raises:
        ExportError: the model has what no way can capture.
    """
    way, given = found.way, found.way.inputs
    try:
        recorded = (
            nullcontext()
            if way.strategy is draft
            else decisions_recorded(found.decisions, found.end if ends else None)
        )
        # TorchDynamo reads the bytecode of functions: those of a strict capture run as they are.
        kept = held_state_kept(module, found.changes, converts=way.strategy is not strict)
        equal = equal_sizes_checked(module, given) if way.relaxed else nullcontext()
        with TORCH_LOCK, changed("every", module), warnings.catch_warnings(), equal, recorded, kept:
            # What is kept is reported with its line (OW839), or nobody reads it.
            warnings.filterwarnings(
                "ignore", r"The tensor attributes? .* assigned during export", UserWarning
            )
            program = way.strategy(module, given.args, given.kwargs, given.dynamic_shapes)
        lost = lost_constants(program) if isinstance(program, ExportedProgram) else []
        if lost:
            return None, LostConstantError(lost[0])
        if isinstance(program, ExportedProgram) and quantized_values(program):
            return None, QuantizedValuesError("the program has values of a quantized type")
        return program, None
    except IteratorTakenError as error:
        span = span_of_error(error) or user_span()
        fail(export_changes.UsedUpByExport(kind=error.kind, span=span))
    except ExportError:
        raise  # what is refused by name has no other way
    except Exception as error:  # noqa: BLE001 - torch raises many kinds; all are reported
        return None, error


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


def _checked(program: Any, name: str) -> ExportedProgram:
    """What a way to capture gave, if it is a program."""
    if isinstance(program, ExportedProgram):
        return program
    checks.raise_bad_argument(
        "capture",
        f"`{name}` gave an object of type {type(program).__name__}",
        "the function returns what `torch.export.export` gives, an `ExportedProgram`",
    )
