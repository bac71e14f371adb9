"""One output of a model compared with PyTorch's: the differences, and whether they do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

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
        got, wanted = (f"{t.dtype} {list(t.shape)}" for t in (ours, theirs))
        return OutputCheck(name, run, math.inf, math.inf, f"{got}, PyTorch has {wanted}")
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
