"""What happened in an export: steps and seconds, ways of capture, operators, what was verified."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxwright.exporter.files import write_text


@dataclass
class Report:
    """The report of one export.

    Fields:
        seconds: seconds of each step.
        captures: what became of each way to capture.
        torch_ops: torch operator -> how often.
        onnx_ops: ONNX operator -> how often.
        fallbacks: operators translated by the fallback -> how often.
        warnings: what was told to the user.
        error: why the export failed; empty if it did not.
        verification: what the verification found, None if it was not asked for.
        opset_version: the version of the standard opset.
    """

    opset_version: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    captures: list[Any] = field(default_factory=list)
    torch_ops: Counter[str] = field(default_factory=Counter)
    onnx_ops: Counter[str] = field(default_factory=Counter)
    fallbacks: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    verification: Any = None

    def markdown(self) -> str:
        """The report as Markdown."""
        state = "failed" if self.error else "done"
        lines = [f"# ONNX export: {state}", ""]
        if self.error:
            lines += ["```", self.error, "```", ""]
        lines += [f"Opset {self.opset_version}.", ""]
        lines += _table(
            "Steps", ("step", "seconds"), [(k, f"{v:.3f}") for k, v in self.seconds.items()]
        )
        lines += _table(
            "Capture",
            ("way", "seconds", "outcome"),
            [
                (o.strategy, f"{o.seconds:.3f}", (o.error or "worked").splitlines()[0])
                for o in self.captures
            ],
        )
        lines += _table("PyTorch operators", ("operator", "count"), _counts(self.torch_ops))
        lines += _table("ONNX operators", ("operator", "count"), _counts(self.onnx_ops))
        lines += _table(
            "Translated by the fallback", ("operator", "count"), _counts(self.fallbacks)
        )
        if self.warnings:
            lines += ["## Warnings", "", *(f"- {w}" for w in self.warnings), ""]
        if self.verification is not None:
            lines += ["## Verification", "", "```", str(self.verification), "```", ""]
        return "\n".join(lines)

    def html(self) -> str:
        """The report as a page without anything to load."""
        text = html.escape(self.markdown())
        return (
            "<!doctype html><meta charset='utf-8'><title>ONNX export</title>"
            "<style>body{font:14px/1.5 system-ui;margin:2rem auto;max-width:60rem}"
            "pre{white-space:pre-wrap}</style>"
            f"<pre>{text}</pre>"
        )

    def save(self, stem: Path) -> tuple[Path, Path]:
        """Write `STEM.md` and `STEM.html`.

        Args:
            stem: the path without an ending; its folder is made.

        Returns:
            The two paths.
        """
        paths = stem.with_suffix(".md"), stem.with_suffix(".html")
        stem.parent.mkdir(parents=True, exist_ok=True)
        write_text(paths[0], self.markdown())
        write_text(paths[1], self.html())
        return paths


def _counts(counter: Any) -> list[tuple[str, str]]:
    rows = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return [(name, str(count)) for name, count in rows]


def _table(title: str, head: tuple[str, ...], rows: list[Any]) -> list[str]:
    if not rows:
        return []
    lines = [f"## {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(str(c).replace('|', chr(92) + '|') for c in row)} |" for row in rows]
    return [*lines, ""]
