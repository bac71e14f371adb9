"""What `quantize_weights` did, as data and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnxwright.diagnostics.shown_text import ShownText, text_table


@dataclass(frozen=True)
class QuantizedWeight:
    """One weight that was quantized.

    Fields:
        name: the name of the weight.
        nodes: the nodes that read it, each `operator name`.
        shape: the shape as the operator reads it: inner size, columns (rows, width for Gather).
        bits: bits of each element.
        block: how many elements share a scale; 0 where a whole column (row for Gather) does.
        bytes: the bytes before, and of integers, scales and zero points after.
        error: the norm of the difference divided by the norm of the weight.
        floats_for: what still reads the weight as floats, so that it is stored in both forms.
    """

    name: str
    nodes: tuple[str, ...]
    shape: tuple[int, ...]
    bits: int
    block: int
    bytes: tuple[int, int]
    error: float
    floats_for: str = ""


@dataclass(frozen=True)
class Skipped:
    """A weight that stays what it is.

    Fields:
        name: the name of the weight.
        node: the node that reads it, `operator name`.
        reason: why.
    """

    name: str
    node: str
    reason: str


@dataclass
class QuantizeReport(ShownText):
    """What was done.

    Fields:
        bytes: the bytes of all initializers and constants of the model, before and after.
        weights: the weights that were quantized.
        skipped: the weights that were not, each with the reason.
        opset: the opset version of the default domain, before and after.
    """

    bytes: tuple[int, int] = (0, 0)
    weights: list[QuantizedWeight] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    opset: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        before, after = self.bytes
        lines = [f"weights {before:,} -> {after:,} bytes"]
        if self.opset[0] != self.opset[1]:
            lines.append(f"opset {self.opset[0]} -> {self.opset[1]}")
        if self.weights:
            head = ("weight", "shape", "bits", "block", "bytes", "error", "read by")
            lines.append(text_table(head, map(_row, self.weights)))
        both = [weight for weight in self.weights if weight.floats_for]
        if both:
            lines.append("stored as floats, too")
            lines += [f"  {weight.name}: {weight.floats_for}" for weight in both]
        if self.skipped:
            lines.append("skipped")
            lines += [f"  {s.name} ({s.node}): {s.reason}" for s in self.skipped]
        return "\n".join(lines)


def _row(weight: QuantizedWeight) -> tuple[str, ...]:
    before, after = weight.bytes
    return (
        weight.name,
        "x".join(map(str, weight.shape)),
        str(weight.bits),
        str(weight.block) if weight.block else "whole",
        f"{before:,} -> {after:,}",
        f"{weight.error:.4f}",
        ", ".join(weight.nodes),
    )
