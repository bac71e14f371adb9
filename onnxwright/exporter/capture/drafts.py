"""What `torch.export.draft_export` had to assume to capture a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._logging.structured import INTERN_TABLE
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import Label, warn
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.places import span_of_frames


@dataclass(frozen=True)
class Finding:
    """One thing that a draft assumes.

    Fields:
        text: a sentence.
        span: the user's line; None where torch kept none.
    """

    text: str
    span: Span | None


def draft(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> ExportedProgram:
    """`torch.export.draft_export`; the file of its trace is closed.

    Args:
        model: a module.
        args, kwargs: example inputs.
        dims: the dynamic shapes.

    Returns:
        The program, with torch's report of it.
    """
    # Slow to import, and few exports end in a draft.
    from torch.export import _draft_export

    kind = _draft_export.CaptureStructuredTrace
    leave = kind.__exit__

    traces: list[Any] = []

    def remember(trace: Any, *error: Any) -> None:
        leave(trace, *error)
        traces.append(trace)

    kind.__exit__ = remember
    try:
        program: ExportedProgram = torch.export.draft_export(
            model, args, kwargs, dynamic_shapes=dims
        )
        return program
    finally:
        kind.__exit__ = leave
        for trace in traces:
            trace.close()


def findings(program: ExportedProgram) -> list[Finding]:
    """What a drafted program assumes.

    Args:
        program: what `torch.export.draft_export` gave.

    Returns:
        The findings, in torch's order; none for a program that is captured without assumptions.
    """
    report = getattr(program, "_report", None)
    if report is None:
        return []
    files = _files()
    return [_finding(failure, files) for failure in report.failures]


def warn_draft(draft_findings: list[Finding]) -> None:
    """Warn of what a draft assumes (OW830).

    Args:
        draft_findings: at least one finding.
    """
    placed = [f for f in draft_findings if f.span is not None]
    labels = tuple(Label(f.span, "assumed here") for f in placed[1:] if f.span is not None)
    warn(
        messages.DraftAssumes(
            count="one thing" if len(draft_findings) == 1 else f"{len(draft_findings)} things",
            notes=tuple(f.text for f in draft_findings),
            labels=labels,
            span=placed[0].span if placed else user_span(),
        )
    )


def _files() -> dict[int, str]:
    """Source files by torch's numbers of them, which last as long as the process.

    A report has those only that were new when it was made.
    """
    return {int(index): str(name) for name, index in INTERN_TABLE.items()}


def _finding(failure: Any, files: dict[int, str]) -> Finding:
    data = failure.data
    kind = failure.failure_type.name
    frames = [
        (files.get(int(f["filename"]), ""), int(f["line"]))
        for f in data.get("user_stack") or data.get("stack") or []
    ]
    return Finding(_words(kind, data), span_of_frames(frames))


def _words(kind: str, data: dict[str, Any]) -> str:
    if kind == "DATA_DEPENDENT_ERROR":
        expression, result = data.get("expr"), data.get("result")
        return f"`{expression}` is always {result}, as it is for the example inputs"
    if kind == "GUARD_ADDED":
        return f"`{data.get('expr')}` holds: the sizes are less free than they were declared"
    if kind == "MISSING_FAKE_KERNEL":
        return (
            f"{data.get('op')} gives tensors like those it gave for the example inputs: it has no "
            "fake kernel (`register_fake`)"
        )
    if kind == "MISMATCHED_FAKE_KERNEL":
        return f"the fake kernel of {data.get('op')} is wrong: {data.get('reason')}"
    return f"{kind.lower().replace('_', ' ')}: {data}"
