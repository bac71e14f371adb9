"""The report of `export_decoder`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class TokenCheck:
    """Greedy tokens of the folder beside those of transformers.

    Fields:
        batch: the number of rows; rows of different lengths are padded on the left, and what an
            encoder reads at the end.
        padded: whether there is padding.
        equal: how many tokens are equal, up to the first that is not in each row.
        total: how many tokens transformers generates.
        ties: rows that differ first at two tokens whose logits are equal up to rounding.
        wrong: rows that differ first at two tokens whose logits are not.
        error: the largest difference of a logit, as a part of the largest logit.
    """

    batch: int
    padded: bool
    equal: int
    total: int
    ties: int = 0
    wrong: int = 0
    error: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the tokens are equal, up to ties."""
        return self.wrong == 0

    def __str__(self) -> str:
        ties = f", {self.ties} of {self.batch} rows differ at a tie" if self.ties else ""
        return f"{self.equal} of {self.total}{ties}, logits differ by {self.error:.0e} at most"


@dataclass(frozen=True)
class DecoderReport:
    """What `export_decoder` wrote.

    Fields:
        folder: where.
        files: the names of the files in it that were written.
        weights: "float32", "float16", "int8" or "int4".
        target: "any" or "onnxruntime".
        type: the type in `genai_config.json`; empty where there is no such file.
        nodes: the number of nodes of the model; of encoder and decoder, where there are both.
        bytes: the size of all models with their weights.
        seconds: seconds of each step.
        checks: tokens of the written model beside those of transformers; empty without `verify`.
        notes: what a reader should know.
    """

    folder: Path
    files: tuple[str, ...]
    weights: str
    target: str
    type: str
    nodes: int
    bytes: int
    seconds: dict[str, float] = field(default_factory=dict)
    checks: tuple[TokenCheck, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tokens_equal(self) -> bool:
        """Whether all tokens were compared and are equal to those of transformers."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    def __str__(self) -> str:
        rows = [
            ("folder", str(self.folder)),
            ("files", ", ".join(self.files)),
            ("weights", f"{self.weights}, target {self.target}"),
            ("genai type", self.type or "not written"),
            ("nodes", f"{self.nodes:,}"),
            ("bytes", f"{self.bytes:,}"),
            *((f"seconds: {step}", f"{n:.1f}") for step, n in self.seconds.items()),
            *(
                (f"tokens equal, batch {c.batch}" + ", padded" * c.padded, str(c))
                for c in self.checks
            ),
            *(("note", note) for note in self.notes),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
