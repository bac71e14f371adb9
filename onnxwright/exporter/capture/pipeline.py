"""From what `export` is given to a captured program: shapes, strategies, findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram

from onnxwright.exporter import checks
from onnxwright.exporter.capture import shapes, specialization, strategies
from onnxwright.exporter.capture.drafts import findings, warn_draft
from onnxwright.exporter.capture.modules import as_module, spelled_out
from onnxwright.exporter.report import recording
from onnxwright.exporter.report.export_report import Report


@dataclass(frozen=True)
class Captured:
    """A captured program.

    Fields:
        program: torch's program.
        names: torch's symbols by the names the user wrote.
    """

    program: ExportedProgram
    names: dict[str, str] = field(default_factory=dict)


def capture_model(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    how: str | strategies.Strategy,
    report: Report,
) -> Captured:
    """Capture what `export` was given.

    Args:
        model: a module, function, method, `ExportedProgram` or path of a `.pt2` file.
        args, kwargs: example inputs.
        dynamic_shapes: as the user wrote them.
        how: the strategy: "auto", a name or a function.
        report: records the strategies tried and the warnings.

    Returns:
        The captured program.

    Raises:
        ExportError: no strategy worked (OW821).
        ExportValueError: an argument cannot be used (OW825).
    """
    if isinstance(model, (str, Path)):
        model = strategies.load_program(model)
    if isinstance(model, ExportedProgram):
        checks.captured_already(dynamic_shapes, how)
        _report_draft(model, report)
        return Captured(model)
    module = as_module(model)
    checks.fit(module, args, kwargs)
    if dynamic_shapes:
        module, dynamic_shapes = spelled_out(module, args, kwargs, dynamic_shapes)
    wanted = shapes.read(module, args, kwargs, dynamic_shapes)
    with recording.timed(report, "capture"):
        program, relaxed = strategies.capture(module, wanted, how, report.captures)
    _report_draft(program, report)
    found = wanted.relaxed() if relaxed else None
    with recording.warnings_recorded(report):
        names = shapes.names_of(program, found or wanted)
        if dynamic_shapes:
            specialization.warn_specialized_dims(program, names)
    return Captured(program, names)


def _report_draft(program: ExportedProgram, report: Report) -> None:
    """Warn of what a draft assumes."""
    found = findings(program)
    if found:
        with recording.warnings_recorded(report):
            warn_draft(found)
