"""One capture of a model: what torch gave or raised, and what was recorded on the way."""

from __future__ import annotations

import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_changes
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter import checks
from onnxwright.exporter.capture.assumptions.decisions import Decision, record_decisions
from onnxwright.exporter.capture.assumptions.joined_sides import SizeDecision
from onnxwright.exporter.capture.assumptions.specialization import (
    fixed_values,
    forward_ad_unwound,
    lost_constants,
)
from onnxwright.exporter.capture.capture_errors import Outcome, reason_of
from onnxwright.exporter.capture.control.keeping import Change, Reading, held_state_kept
from onnxwright.exporter.capture.drafts import draft
from onnxwright.exporter.capture.frontend.observing import ValueDecisions
from onnxwright.exporter.capture.inputs.captured_sizes import (
    equal_sizes_checked,
    fixed_axes,
)
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.quantized.modules import QuantizedValuesError, quantized_values
from onnxwright.exporter.capture.replacements import torch_func
from onnxwright.exporter.capture.replacements.entries import changed
from onnxwright.exporter.capture.replacements.size_results import sizes_remembered
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import (
    ArrayMemoryError,
    NotTakenBackError,
    OtherMemoryError,
)
from onnxwright.exporter.capture.session.torch_errors import is_about_fixed_size
from onnxwright.exporter.capture.strategies import Source, Strategy, non_strict, strict
from onnxwright.exporter.capture.torch_output import TorchOutput, capture_torch_output
from onnxwright.exporter.capture.values.texts import Texts, record_texts
from onnxwright.exporter.places import span_of_error
from onnxwright.exporter.torch_lock import TORCH_LOCK


class Way(NamedTuple):
    """A way to capture a model.

    Fields:
        name: as the report has it.
        strategy: the function that captures.
    """

    name: str
    strategy: Strategy


@dataclass
class Attempt:
    """What one capture gave.

    Fields:
        way: the way.
        inputs: example inputs, and which dimensions were asked to be dynamic.
        output: what torch wrote.
        program: what it captured.
        error: why not, if it did not.
        seconds: how long it took.
        decisions: what Python of the user decided by sizes.
        changes: the numbers of Python that the module changed.
        texts: the lines that make a text of a number of run time.
        forward_derivatives: the levels of torch.func that computed them.
    """

    way: Way
    inputs: Wanted
    output: TorchOutput
    program: Any = None
    error: Exception | None = None
    seconds: float = 0.0
    decisions: list[Decision] = field(default_factory=list)
    changes: list[Change | Reading] = field(default_factory=list)
    texts: Texts = field(default_factory=dict)
    forward_derivatives: list[int] = field(default_factory=list)

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

    def outcome(self) -> Outcome:
        """The line of the report."""
        reason = "" if self.error is None else reason_of(self.error)
        if self.source is None:
            return Outcome(self.way.name, self.seconds, reason, self.output.text)
        choices, rewritten = self.source.choices, self.source.rewritten
        return Outcome(self.way.name, self.seconds, reason, self.output.text, choices, rewritten,
                       self.source.answered)  # fmt: skip

    def lost_sizes(self) -> int:
        """How many sizes that were asked to be dynamic are numbers."""
        if not any(self.inputs.axes):
            return 0
        return len(fixed_axes(self.program, self.inputs)) + len(fixed_values(self.program))

    def needs_no_func(self) -> bool:
        """Whether the model is captured anew without its transformations of torch.func."""
        error = self.error
        if error is not None:
            if self.forward_derivatives and is_about_fixed_size(error):
                return True  # some rules of forward derivatives read sizes as integers
            return isinstance(error, LostConstantError) or torch_func.comes_from_it(error)
        is_traced = self.way.strategy is non_strict or self.source is not None
        if not is_traced or not torch_func.is_used(self.program):
            return False
        fixed = bool(self.forward_derivatives and self.lost_sizes())
        return fixed or self.inputs.for_torch() is not self.inputs or not _is_resolved(self.program)


def attempted(way: Way, model: Any, inputs: Wanted) -> Attempt:
    """Capture a model.

    Args:
        way: the way.
        model: a module.
        inputs: example inputs, and which dimensions are dynamic.

    Returns:
        What it gave, or the error it raised.
    """
    begun = time.perf_counter()
    with TORCH_LOCK, capture_torch_output() as output:
        attempt = Attempt(way, inputs, output)
        try:
            attempt.program = _captured(attempt, model)
        except Exception as error:  # noqa: BLE001 - torch raises many kinds; all are reported
            attempt.error = error
    attempt.seconds = time.perf_counter() - begun
    return attempt


def _captured(attempt: Attempt, module: Any) -> ExportedProgram:
    """What one way gives; what was recorded is added to the attempt.

    Raises:
        ExportError: what the way refuses by name.
        ExportValueError: it is a function that gave no program (OW825).
    """
    way, torch_inputs = attempt.way, attempt.inputs.for_torch()
    try:

        def record(changes: Changes, _: Any) -> None:
            record_texts(changes, attempt.texts)
            torch_func.note_forward_derivatives(changes, attempt.forward_derivatives)
            if way.strategy is not draft:  # which names the lines of what it assumes itself
                sizes_remembered(changes)
                record_decisions(changes, attempt.decisions)

        # TorchDynamo reads the bytecode of functions: those of a strict capture run as they are.
        kept = held_state_kept(module, attempt.changes, converts=way.strategy is not strict)
        equal = (
            nullcontext()
            if torch_inputs is attempt.inputs
            else equal_sizes_checked(module, torch_inputs)
        )
        with TORCH_LOCK, changed("every", module, record), warnings.catch_warnings(), equal, kept:
            # What is kept is reported with its line (OW839), or nobody reads it.
            warnings.filterwarnings(
                "ignore", r"The tensor attributes? .* assigned during export", UserWarning
            )
            if attempt.source is not None:
                attempt.source.output = attempt.output
            program = way.strategy(
                module, torch_inputs.args, torch_inputs.kwargs, torch_inputs.dynamic_shapes
            )
    except NotTakenBackError as error:
        span = span_of_error(error) or user_span()
        fail(export_changes.UsedUpByExport(does=error.does, span=span))
    except OtherMemoryError as error:
        fail(export_changes.OtherMemory(span=span_of_error(error) or user_span()))
    except ArrayMemoryError as error:
        span = span_of_error(error) or user_span()
        fail(export_changes.ArrayMemory(does=error.does, span=span))
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
