"""What happened in an export: steps and seconds, ways of capture, operators, what was verified."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxwright.exporter.report.pages import Block, Code, Items, Page, Section, Table
from onnxwright.ir.writing import write_file

DEFAULT_REPORT = "onnxwright_export"
TARGETS = ("onnxruntime-cpu", "any")
"""What a model may be written for; the first is the default."""


@dataclass
class Report:
    """The report of one export.

    Fields:
        opset_version: the version of the standard opset.
        target: the runtime the model is written for.
        seconds: seconds of each step.
        covered: decisions by sizes that the model has both sides of, as
            `joined_sides.CoveredDecision`.
        captures: what became of each way to capture, as `capture.outcomes.Outcome`.
        torch_ops: torch operator -> how often.
        onnx_ops: ONNX operator -> how often.
        ways: torch operator -> what translated it.
        fallbacks: operators translated by the fallback -> how often.
        fallen: the nodes that the fallback translated, as `node_facts.NodeNote`.
        failures: the nodes that could not be translated, as `node_facts.NodeNote`.
        inputs, outputs: those of the model, as text.
        mutations: what the program writes to -> the output with the new value; empty if dropped.
        warnings: warnings given to the user, and notes.
        error: why the export failed; empty if it did not.
        verification: what the verification found, None if it was not asked for.
        versions: package -> version.
        dimensions: the names of dynamic sizes; not shown.
    """

    opset_version: int = 0
    target: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    covered: list[Any] = field(default_factory=list)
    captures: list[Any] = field(default_factory=list)
    torch_ops: Counter[str] = field(default_factory=Counter)
    onnx_ops: Counter[str] = field(default_factory=Counter)
    ways: dict[str, str] = field(default_factory=dict)
    fallbacks: dict[str, int] = field(default_factory=dict)
    fallen: list[Any] = field(default_factory=list)
    failures: list[Any] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    mutations: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    verification: Any = None
    versions: dict[str, str] = field(default_factory=dict)
    dimensions: Any = None

    def markdown(self) -> str:
        """The report as Markdown."""
        return self._page().markdown()

    def _repr_markdown_(self) -> str:
        """What a notebook shows."""
        return self.markdown()

    def save(self, path: str | Path) -> Path:
        """Write the report as Markdown.

        Args:
            path: where to, with or without the ending `.md`; its folder is made.

        Returns:
            The path of the file.

        Raises:
            OSError: it cannot be written.

        Example:
            >>> Report(23).save("folder/report").name
            'report.md'
        """
        target = path_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, self.markdown())
        return target

    # -- the page ----------------------------------------------------------------------------------

    def _page(self) -> Page:
        sections = [
            self._summary(),
            Section("Nodes that failed", _nodes(self.failures, "why")),
            Section("Warnings", Items(self.warnings)),
            self._verified(),
            *self._captured(),
            Section(
                "Steps",
                Table(("step", "seconds"), [(k, f"{v:.3f}") for k, v in self.seconds.items()]),
            ),
            Section("Model", Table(("", "value"), self._model())),
            Section("Written to", Table(("what", "output with its new value"), self._written())),
            Section(
                "PyTorch operators",
                Table(
                    ("operator", "count", "translated by"),
                    [(name, n, self.ways.get(name, "")) for name, n in _counts(self.torch_ops)],
                ),
            ),
            Section("ONNX operators", Table(("operator", "count"), _counts(self.onnx_ops))),
            Section("Translated by the fallback", _nodes(self.fallen)),
            Section("Versions", Table(("package", "version"), list(self.versions.items()))),
        ]
        title = f"ONNX export: {'failed' if self.error else 'done'}"
        return Page(title, sections)

    def _summary(self) -> Section:
        if self.error:
            return Section("", Code(self.error))
        nodes = sum(self.onnx_ops.values())
        words = f"{nodes} nodes, opset {self.opset_version}, {sum(self.seconds.values()):.2f} s"
        if self.verification is not None:
            words += f"; verified: {self.verification.summary()}"
        return Section("", Items([words]))

    def _captured(self) -> list[Section]:
        rows = [
            (o.strategy, f"{o.seconds:.3f}", (o.error or "worked").splitlines()[0])
            for o in self.captures
        ]
        told = [
            Section(f"What PyTorch says of `{o.strategy}`", Code(text), folded=True)
            for o in self.captures
            if (text := "\n\n".join(filter(None, (o.error, o.output))))
        ]
        choices = [
            (_what(choice), f"{choice.file}:{choice.line}", choice.text)
            for outcome in self.captures
            for choice in outcome.choices
        ]
        decided = Section("Decisions by values", Table(("in the model", "line", "code"), choices))
        by_size = [(c.text, f"{c.file}:{c.line}", c.how) for c in self.covered]
        by_sizes = Section(
            "Decisions by sizes", Table(("condition", "line", "in the model"), by_size)
        )
        captures = Section("Capture", Table(("way", "seconds", "outcome"), rows))
        return [captures, by_sizes, decided, *told]

    def _verified(self) -> Section:
        text = "" if self.verification is None else str(self.verification)
        return Section("Verification", Code(text))

    def _model(self) -> list[tuple[str, str]]:
        rows = [("opset", str(self.opset_version)), ("target", self.target)]
        rows += [("input", text) for text in self.inputs]
        rows += [("output", text) for text in self.outputs]
        return [row for row in rows if row[1]]

    def _written(self) -> list[tuple[str, str]]:
        return [(name, output or "(dropped)") for name, output in self.mutations.items()]


def path_of(path: str | Path) -> Path:
    """The file of a report.

    Example:
        >>> path_of("reports/v1.2").name, path_of("a.md").name
        ('v1.2.md', 'a.md')
    """
    target = Path(path)
    return target if target.suffix == ".md" else target.with_name(f"{target.name}.md")


def _nodes(notes: list[Any], reason: str = "") -> Block:
    """A table of nodes."""
    rows = []
    for note in notes:
        module = f"{note.module or '(the model)'}\n{note.kind}" if note.kind else note.module
        line = f"{note.place}\n{note.code}" if note.code else note.place
        row = [note.node, note.target, "\n".join(note.inputs), "\n".join(note.outputs)]
        rows.append((*row, module, line, *((note.reason,) if reason else ())))
    head = ("node", "operator", "inputs", "outputs", "module", "line")
    return Table((*head, reason) if reason else head, rows)


def _what(choice: Any) -> str:
    """What a decision by a value is in the model."""
    return f"Item of {choice.sides}" if choice.kind == "Item" else choice.kind


def _counts(counter: Any) -> list[tuple[str, str]]:
    rows = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return [(name, str(count)) for name, count in rows]
