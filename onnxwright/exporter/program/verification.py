"""`Verification`: what a comparison of a model with its module found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from onnxwright.diagnostics.shown_text import ShownText
from onnxwright.exporter.capture.frontend.observing import Branch

# -- one output of a model compared with PyTorch's: the differences, and whether they do -----------

# torch.testing's tolerances by dtype, ten times wider: whole networks add up rounding.
_TOLERANCES = {
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (3e-2, 1e-2),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-6, 1e-7),
    torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-6, 1e-7),
}


@dataclass(frozen=True)
class OutputCheck:
    """One output compared with PyTorch's.

    Fields:
        name: its place among the flattened results.
        run: which set of inputs: "given", "other sizes" or "other branches".
        max_abs, max_rel: the largest absolute and relative difference.
        problem: why it does not do; empty if it does.
    """

    name: str
    run: str
    max_abs: float
    max_rel: float
    problem: str = ""


def compare(
    name: str, run: str, ours: Any, theirs: Any, rtol: float | None, atol: float | None
) -> OutputCheck:
    """Compare one output.

    Args:
        ours, theirs: tensors or plain values.
        rtol, atol: tolerances; by dtype if None.
    """
    if not isinstance(theirs, torch.Tensor) or not isinstance(ours, torch.Tensor):
        same = ours == theirs or (isinstance(theirs, float) and math.isclose(ours, theirs))
        problem = "" if same else f"{ours!r}, PyTorch has {theirs!r}"
        return OutputCheck(name, run, 0.0, 0.0, problem)
    theirs = theirs.detach()
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        got, expected = (f"{t.dtype} {list(t.shape)}" for t in (ours, theirs))
        return OutputCheck(name, run, math.inf, math.inf, f"{got}, PyTorch has {expected}")
    relative, absolute = _TOLERANCES.get(theirs.dtype, (0.0, 0.0))
    relative = relative if rtol is None else rtol
    absolute = absolute if atol is None else atol
    wide = torch.complex128 if theirs.is_complex() else torch.float64
    a, b = ours.to(wide), theirs.to(wide)
    both_nan = a.isnan() & b.isnan()
    same = both_nan | (a == b)
    gap = torch.where(same, torch.zeros_like(a.abs()), (a - b).abs())
    max_abs = float(gap.max()) if gap.numel() else 0.0
    scaled = torch.where(same, torch.zeros_like(gap), gap / b.abs().clamp_min(1e-12))
    max_rel = float(scaled.max()) if gap.numel() else 0.0
    close = torch.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
    wrong = int((~close).sum())
    problem = "" if not wrong else f"{wrong} of {close.numel()} elements differ"
    return OutputCheck(name, run, max_abs, max_rel, problem)


# -- verification ----------------------------------------------------------------------------------

_STEPS = {
    "capture": "the program that PyTorch captured differs from the module",
    "translation": "the model differs from the program that PyTorch captured",
}


@dataclass
class Verification(ShownText):
    """What a verification found.

    Fields:
        outputs: each output of each run.
        problems: what else is wrong: the checker, the runtime.
        notes: what was not verified, and why.
        undecided: what could not be decided: differences that only made-up inputs show, in which
            integers may not be what the module takes.
        refused: why PyTorch does not run the module at any other size that was tried; empty if it
            does.
        step: where a difference comes from: "capture" (PyTorch's program differs from the module)
            or "translation" (the model differs from PyTorch's program); empty without one.
        cause: what makes the captured program differ, if that is known; empty otherwise.
        branches: decisions by values, and which of their sides were run.
        random: outputs whose values differ by random numbers; types and shapes are compared.
    """

    outputs: list[OutputCheck] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    refused: str = ""
    step: str = ""
    cause: str = ""
    branches: list[Branch] = field(default_factory=list)
    random: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and the module runs at other sizes."""
        return not self.wrong and not self.refused

    @property
    def wrong(self) -> bool:
        """Whether the model differs from PyTorch on inputs that decide it."""
        return bool(self.problems) or any(o.problem for o in self.outputs)

    def summary(self) -> str:
        """One sentence."""
        wrong = [*self.problems, *(f"{o.name}: {o.problem}" for o in self.outputs if o.problem)]
        if wrong:
            first = wrong[0] if len(wrong) == 1 else f"{wrong[0]} (and {len(wrong) - 1} more)"
            return f"{first}; {self.cause or _STEPS[self.step]}" if self.step else first
        worst = max((o.max_abs for o in self.outputs), default=0.0)
        count = len(self.outputs)
        if self.refused:
            return self.refused
        if not count:
            return "there was nothing to compare"
        agree = "1 output agrees" if count == 1 else f"{count} outputs agree"
        text = f"{agree}, largest difference {worst:.3g}"
        items = [branch for branch in self.branches if branch.kind == "Item"]
        others = [branch for branch in self.branches if branch.kind != "Item"]
        if others:
            text += f"; {_ran(others)} sides of decisions by values were run"
        if items:
            text += f"; {_ran(items)} items chosen by values were run"
        if self.random:
            text += "; the model draws random numbers: values not compared of "
            text += ", ".join(self.random)
        if self.undecided:
            text += f"; not decided: {self.undecided[0]}"
        return text

    def __str__(self) -> str:
        lines = [self.summary()]
        lines += [
            f"  {o.run}: {o.name}: max abs {o.max_abs:.3g}, max rel {o.max_rel:.3g}"
            + (f": {o.problem}" if o.problem else "")
            for o in self.outputs
        ]
        return "\n".join([*lines, *(f"  note: {n}" for n in self.notes)])


def _ran(branches: Sequence[Branch]) -> str:
    """How many of their sides ran."""
    return f"{sum(len(b.ran) for b in branches)} of {sum(b.sides for b in branches)}"
