"""From what `export` is given to a captured program: shapes, strategies, findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.errors import ExportError
from onnxwright.exporter import checks
from onnxwright.exporter.capture.assumptions import specialization
from onnxwright.exporter.capture.assumptions.guards import Place, Sizes, places_of, sizes_of
from onnxwright.exporter.capture.assumptions.joined_sides import covered, examples_of
from onnxwright.exporter.capture.assumptions.known_extremes import settle_extremes
from onnxwright.exporter.capture.assumptions.squeezes import squeezed_sizes
from onnxwright.exporter.capture.attempts import Capture, capture
from onnxwright.exporter.capture.control.held_state import warn_changes
from onnxwright.exporter.capture.drafts import findings, warn_draft
from onnxwright.exporter.capture.frontend.observing import ValueDecisions
from onnxwright.exporter.capture.inputs import captured_sizes, shapes
from onnxwright.exporter.capture.inputs.examples import (
    check_example,
    check_sparse,
    check_sums,
    import_what_forward_imports,
    raise_not_captured,
    written_out,
)
from onnxwright.exporter.capture.inputs.sliding import warn_sliding
from onnxwright.exporter.capture.modules import (
    as_module,
    initialize_lazy_modules,
    load_program,
    spelled_out,
)
from onnxwright.exporter.capture.strategies import Strategy
from onnxwright.exporter.capture.training import warn_training_mode, warn_training_program
from onnxwright.exporter.capture.values.texts import warn_texts
from onnxwright.exporter.report import recording
from onnxwright.exporter.report.export_report import Report
from onnxwright.exporter.torch_internals import pytree


@dataclass(frozen=True)
class Captured:
    """A captured program.

    Fields:
        program: torch's program.
        names: torch's symbols by the names the user wrote.
        sizes: for which sizes it is right.
        module: what it was captured from; None for a program that was captured before.
        by_values: what it decides by values; empty if it was not captured by source.
        examples: sizes on both sides of decisions by sizes that the program has both sides of.
        asked: the sizes of inputs that were captured as dynamic, with the names written for them.
        inputs: the example inputs, and which dimensions were asked to be dynamic.
        called: the module that takes these inputs; `module`, or one around it.
    """

    program: ExportedProgram
    names: dict[str, str] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=Sizes)
    module: torch.nn.Module | None = None
    by_values: ValueDecisions = field(default_factory=ValueDecisions)
    examples: tuple[Mapping[Place, int], ...] = ()
    asked: Mapping[Place, str] = field(default_factory=dict)
    inputs: shapes.Wanted | None = None
    called: torch.nn.Module | None = None


def capture_model(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    how: str | Strategy,
    report: Report,
    *,
    strict: bool = False,
    assume: Mapping[str, bool] | None = None,
) -> Captured:
    """Capture what `export` was given.

    Args:
        how: the strategy: "auto", a name or a function.
        report: records the strategies tried and the warnings.
        strict: make it an error if the program is right for a part of the sizes only.
        assume: answers to decisions by values.

    Raises:
        ExportError: no strategy worked (OW821), or the program decides by sizes (OW834).
        ExportValueError: an argument cannot be used (OW825).
    """
    if isinstance(model, (str, Path)):
        model = load_program(model)
    if isinstance(model, ExportedProgram):
        return _captured_before(model, dynamic_shapes, how, report, strict)
    module = own = as_module(model)
    checks.fit(module, args, kwargs)
    import_what_forward_imports(module)
    initialize_lazy_modules(module, args, kwargs)
    with recording.warnings_recorded(report):
        warn_training_mode(module)
        warn_sliding(module, args, kwargs)
    proposed = written_out(module, args, kwargs, dynamic_shapes)
    dynamic_shapes = proposed.shapes
    if dynamic_shapes:
        module, dynamic_shapes = spelled_out(module, args, kwargs, dynamic_shapes)
    inputs = shapes.read(module, args, kwargs, dynamic_shapes)
    example = pytree.tree_leaves((tuple(args), shapes.in_signature_order(module, kwargs)))
    check_sums(inputs.axes, example)
    if proposed.quiet:
        inputs = dataclasses.replace(inputs, axes=[])
    with recording.timed(report, "capture"):
        try:
            captured = capture(module, inputs, how, report.captures, assume)
        except ExportError as error:
            raise_not_captured(module, error)
            raise
    program, attempt = captured.attempt.program, captured.attempt
    asked = captured_sizes.dynamic_places(program, inputs)
    _report_draft(program, report)
    proposed.verify(program)
    with recording.warnings_recorded(report):
        check_sparse(program)
        warn_changes(attempt.changes)
        warn_texts(attempt.texts)
        attempt.by_values.warn()
        names = captured_sizes.names_of(program, inputs.for_torch(), captured.unrolled)
        if dynamic_shapes:
            specialization.warn_specialized_dims(program, names, captured.unrolled)
        sizes = _sizes_of(captured, inputs, names)
        settle_extremes(program, sizes)
        report.covered += covered(attempt.by_sizes, sizes)
        _report_decisions(program, sizes, strict)
    _check_answers(assume or {}, report)
    check_example(sizes, inputs.axes, example)
    examples = examples_of(attempt.by_sizes, sizes)
    return Captured(program, names, sizes, own, attempt.by_values, examples, asked, inputs, module)


def _sizes_of(captured: Capture, inputs: shapes.Wanted, names: dict[str, str]) -> Sizes:
    """What a captured program assumes about sizes."""
    program = captured.attempt.program
    written = captured_sizes.written_names(inputs, places_of(program))
    ranges = captured_sizes.declared_ranges(program, inputs)
    decisions = (*captured.attempt.decisions, *squeezed_sizes(program))
    return sizes_of(program, names, ranges, written, decisions)


def _captured_before(
    program: ExportedProgram, dynamic_shapes: Any, how: Any, report: Report, strict: bool
) -> Captured:
    """A program that was captured before."""
    checks.captured_already(dynamic_shapes, how)
    _report_draft(program, report)
    sizes = sizes_of(program, {}, {}, {}, captured_before=True)
    with recording.warnings_recorded(report):
        warn_training_program(program)
        check_sparse(program)
        _report_decisions(program, sizes, strict)
    return Captured(program, sizes=sizes, asked=dict.fromkeys(sizes.places, ""))


def _check_answers(assume: Mapping[str, bool], report: Report) -> None:
    """Refuse an answer to a decision that the program does not have."""
    answered = frozenset().union(*(outcome.answered for outcome in report.captures))
    for key in assume:
        if key not in answered:
            choices = report.captures[-1].choices if report.captures else ()
            there = ", ".join(f"{Path(c.file).name}:{c.line} `{c.text}`" for c in choices)
            checks.raise_bad_argument(
                "assume",
                f"nothing that is decided by a value is {key!r}",
                f"the decisions of this program are {there}"
                if there
                else "this program decides nothing by a value: leave the answer out",
            )


def _report_decisions(program: ExportedProgram, sizes: Sizes, strict: bool) -> None:
    """Warn of decisions by sizes of which one side is exported; an error if strict."""
    fixed = {one.args for one in specialization.fixed_values(program)}  # OW827
    guards = [g for g in sizes.decisions() if g.expression.args not in fixed]
    if strict and guards:
        fail(
            *(
                messages.SizeRefused(guard=g.text, notes=sizes.notes(g), span=g.span or user_span())
                for g in guards
            )
        )
    for guard in guards:
        notes = sizes.notes(guard)
        warn(messages.SizeAssumed(guard=guard.text, notes=notes, span=guard.span or user_span()))


def _report_draft(program: ExportedProgram, report: Report) -> None:
    """Warn of what a draft assumes."""
    draft_findings = findings(program)
    if draft_findings:
        with recording.warnings_recorded(report):
            warn_draft(draft_findings)
