"""From what `export` is given to a captured program: shapes, strategies, findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.exporter import checks
from onnxwright.exporter.capture import shapes, specialization, strategies
from onnxwright.exporter.capture.drafts import findings, warn_draft
from onnxwright.exporter.capture.guards import Sizes, places_of, sizes_of
from onnxwright.exporter.capture.modules import as_module, spelled_out
from onnxwright.exporter.capture.training import warn_training_mode
from onnxwright.exporter.report import recording
from onnxwright.exporter.report.export_report import Report


@dataclass(frozen=True)
class Captured:
    """A captured program.

    Fields:
        program: torch's program.
        names: torch's symbols by the names the user wrote.
        sizes: for which sizes it is right.
        module: what it was captured from; None for a program that was captured before.
    """

    program: ExportedProgram
    names: dict[str, str] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=Sizes)
    module: torch.nn.Module | None = None


def capture_model(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    how: str | strategies.Strategy,
    report: Report,
    *,
    strict: bool = False,
) -> Captured:
    """Capture what `export` was given.

    Args:
        model: a module, function, method, `ExportedProgram` or path of a `.pt2` file.
        args, kwargs: example inputs.
        dynamic_shapes: as the user wrote them.
        how: the strategy: "auto", a name or a function.
        report: records the strategies tried and the warnings.
        strict: make it an error if the program is right for a part of the sizes only.

    Returns:
        The captured program.

    Raises:
        ExportError: no strategy worked (OW821), or the program decides by sizes (OW834).
        ExportValueError: an argument cannot be used (OW825).
    """
    if isinstance(model, (str, Path)):
        model = strategies.load_program(model)
    if isinstance(model, ExportedProgram):
        checks.captured_already(dynamic_shapes, how)
        _report_draft(model, report)
        return Captured(model, sizes=sizes_of(model, {}, {}, {}))
    module = own = as_module(model)
    checks.fit(module, args, kwargs)
    with recording.warnings_recorded(report):
        warn_training_mode(module)
    if dynamic_shapes:
        module, dynamic_shapes = spelled_out(module, args, kwargs, dynamic_shapes)
    wanted = shapes.read(module, args, kwargs, dynamic_shapes)
    with recording.timed(report, "capture"):
        found = strategies.capture(module, wanted, how, report.captures)
    program = found.program
    _report_draft(program, report)
    relaxed = wanted.relaxed() if found.relaxed else None
    with recording.warnings_recorded(report):
        names = shapes.names_of(program, relaxed or wanted)
        if dynamic_shapes:
            specialization.warn_specialized_dims(program, names)
        written = shapes.written_names(wanted, places_of(program))
        ranges = shapes.declared_ranges(program, wanted)
        sizes = sizes_of(program, names, ranges, written, found.decisions)
        _report_decisions(program, sizes, strict)
    return Captured(program, names, sizes, own)


def _report_decisions(program: ExportedProgram, sizes: Sizes, strict: bool) -> None:
    """Warn of decisions by sizes that hold for a part of the sizes only; an error if strict."""
    fixed = {(f.expression, f.value) for f in specialization.fixed_values(program)}  # OW827
    found = [g for g in sizes.decisions() if g.expression.args not in fixed]
    if strict and found:
        fail(*(messages.SizeRefused(guard=g.text, span=g.span or user_span()) for g in found))
    for guard in found:
        warn(messages.SizeAssumed(guard=guard.text, span=guard.span or user_span()))


def _report_draft(program: ExportedProgram, report: Report) -> None:
    """Warn of what a draft assumes."""
    found = findings(program)
    if found:
        with recording.warnings_recorded(report):
            warn_draft(found)
