"""Results of a sample beside those of PyTorch: whether they agree, and how far apart they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.atenlib.optest import OpTest
from onnxwright.sweep.aten_runs import UNKNOWN
from onnxwright.sweep.unique_parts import KINDS


def judge_results(
    got: Sequence[Any], expected: Sequence[Any], test: OpTest, dtype: str
) -> tuple[str, str]:
    """Whether results are torch's.

    Args:
        got: ours; `UNKNOWN` where no operator computes one.
        expected: torch's tensors and numbers.
        test: says tolerances, and whether values are compared.

    Returns:
        The status and the reason.
    """
    compared = 0
    for i, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        if ours is UNKNOWN:
            continue
        compared += 1
        difference = compare(ours, theirs, test, dtype)
        if difference:
            return "failed", f"result {i}: {difference}"
    parts = KINDS.get(test.compare)
    if parts is not None and UNKNOWN not in got:
        exact = dataclasses.replace(test, compare="values")
        for i, (ours, theirs) in enumerate(zip(parts(got), parts(expected), strict=True)):
            difference = compare(ours, theirs, exact, dtype)
            if difference:
                return "failed", f"unique part {i}: {difference}"
    if not compared:
        return "skipped", "nothing to compare: no operator gives a tensor or number of the result"
    return "passed", ""


def compare(ours: Any, theirs: Any, test: OpTest, dtype: str) -> str:
    """How a result differs from torch's.

    Args:
        ours, theirs: the results, tensors or numbers.
        test: says tolerances, and whether values are compared.

    Returns:
        What is different; empty if nothing is.

    Example:
        >>> compare(torch.zeros(2), torch.zeros(3), OpTest("abs"), "float32")
        'shape [2], torch has [3]'
    """
    if not isinstance(theirs, torch.Tensor):
        ours = ours.item() if isinstance(ours, torch.Tensor) else ours
        if type(ours) is not type(theirs):
            return f"a {type(ours).__name__}, torch has a {type(theirs).__name__}"
        return _distance(torch.tensor(ours), torch.tensor(theirs), test, dtype)
    if not isinstance(ours, torch.Tensor):
        return f"{ours!r}, torch has a tensor"
    theirs = theirs.detach().resolve_conj().resolve_neg()
    if ours.dtype != theirs.dtype:
        return f"dtype {ours.dtype}, torch has {theirs.dtype}"
    if ours.shape != theirs.shape:
        return f"shape {list(ours.shape)}, torch has {list(theirs.shape)}"
    return _distance(ours, theirs, test, dtype)


def _distance(ours: torch.Tensor, theirs: torch.Tensor, test: OpTest, dtype: str) -> str:
    if test.compare != "values":
        return ""
    tol = (test.tol or {}).get(dtype)
    options: dict[str, Any] = {} if tol is None else {"rtol": tol.rtol, "atol": tol.atol}
    try:
        torch.testing.assert_close(ours, theirs, equal_nan=True, **options)
    except AssertionError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return " ".join(lines[:4])
    return ""
