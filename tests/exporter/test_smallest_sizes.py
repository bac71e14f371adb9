"""What is computed of sizes, at the smallest size that the program is for.

Torch takes each size of a tensor for 2 or more: after `arange(n - 3)`, `n` is 5 or more for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
import torch
from torch.export import Dim
from torch.nn.functional import conv1d, interpolate

import onnxwright as ow
from tests.harness.tables import each

Case = tuple[Callable[[Any, int], Any], int]


def of_the_rest(x: Any, n: int) -> Any:
    largest = None
    for i in range(1, n):
        largest = x[i] if largest is None else torch.maximum(largest, x[i])
    return x[0] * 2 if largest is None else largest


def from_the_end(x: Any, n: int) -> Any:
    total = x.new_zeros(3)
    while n > 0:
        n -= 1
        total = total * 0.5 + x[n]
    return total


def of_differences(x: Any, n: int) -> Any:
    total, before = x.new_zeros(3), None
    for row in x:
        if before is not None:
            total = total + (row - before).abs()
        before = row
    return total if before is not None else total - 1


def behind_tests_of_sizes(x: Any, n: int) -> Any:
    """What Python does not come to where there are too few rows fails in the model, too."""
    found = 0
    if x.numel() and x.max() > 0:
        found += 1
    if n == 0 or x.min() > 0:
        found += 2
    if n >= 3 and x[2].sum() > 0:
        found += 4
    while len(x) > 0 and x[-1].sum() > 0:
        x = x[:-1]
    return x, x.sum() * 0 + found


CASES: tuple[Case, ...] = (
    (behind_tests_of_sizes, 0),
    (from_the_end, 0),
    (of_differences, 0),
    (lambda x, n: x[n - 1] if n else torch.ones(3), 0),
    (lambda x, n: torch.ones(3) if not n else x[0], 0),
    (lambda x, n: next(iter(x), torch.ones(3)), 0),
    (lambda x, n: x.sum(0) / max(n, 1), 0),
    (lambda x, n: torch.ones(max(1, n * 2)), 0),
    (lambda x, n: x.sum() / max(x.numel(), 1), 0),
    (lambda x, n: x.sum(0) + min(n, 1), 0),
    (of_the_rest, 1),
    (lambda x, n: torch.linspace(2, 3, n - 3), 4),
    (lambda x, n: (torch.arange(n - 3), torch.zeros(max(n - 4, 1))), 4),
    (lambda x, n: (x[: n // 2], torch.ones(max(n // 2, 1))), 1),
    (lambda x, n: x[: max(n // 2, 1)].mean(0), 1),
    (lambda x, n: interpolate(x.T[None], size=max(n // 2, 1)), 1),
    (lambda x, n: x[torch.arange(n - 3)] * max(n - 5, 0), 4),
    (lambda x, n: torch.full((n - 3,), float(max(n - 4, 1))), 4),
    (lambda x, n: x * max(n - 1, 1), 1),
    (lambda x, n: torch.cat((-x[n // 2 :], torch.zeros(max(n // 2 - 1, 1), 3))), 2),
    (lambda x, n: x * max(n / 2, 1.5), 1),
    (lambda x, n: (conv1d(x.T[None], torch.ones(2, 3, 4)), torch.zeros(max(n - 4, 1))), 4),
    (lambda x, n: torch.zeros(min(n - 3, 4), max(n // 3, n - 5, 1)), 4),
)


@each(("function", "smallest"), CASES)
def test_smallest_size(function: Callable[[Any, int], Any], smallest: int) -> None:
    class Sized(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return function(x, x.shape[0])

    program = ow.export(Sized(), (torch.rand(7, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))
    for size in (smallest, smallest + 1, 7, 60):
        x = torch.rand(size, 3)
        torch.testing.assert_close(program(x), Sized()(x))


@pytest.mark.parametrize("subtracted", [0, 3])
def test_how_often_a_loop_runs_is_proven(subtracted: int) -> None:
    """For torch, a size is 2 or more: a range to 2 by that size would have one item."""

    def twice(x: Any) -> Any:
        n = x.shape[0] - subtracted
        parts = [x * (i + 1) for i in range(0, 2, n)]
        return torch.stack(parts).sum(0), torch.arange(n)

    with pytest.raises(ow.ExportError, match="specialized it to be a constant"):
        ow.export(twice, (torch.rand(7, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_a_slice_of_a_table_is_as_long_as_the_size_by_its_declared_range() -> None:
    table = torch.rand(64, 3)
    short = ({0: Dim("n", max=64)},)
    program = ow.export(
        lambda x: x + table[: x.shape[0]], (torch.rand(7, 3),), dynamic_shapes=short
    )
    assert "Min" not in {node.op_type for node in program.model_proto.graph.node}
    x = torch.rand(64, 3)
    torch.testing.assert_close(program(x), x + table)


@each(
    "function",
    (
        lambda x, n: x.sum(0) + torch.sym_min(n, 1),
        lambda x, n: x.sum(0) * abs(n - 1),
        # The program has both sides of the other one of the line.
        lambda x, n: (x.sum(0) * abs(n - 1), x.sum(0) * max(n - 1, 0)),
    ),
)
def test_an_extreme_that_is_another_one_of_no_rows_is_reported(function: Any) -> None:
    """PyTorch takes `n` for 1 or more, and `sym_max(n, 1)` for `n`."""

    class Sized(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return function(x, x.shape[0])

    with pytest.warns(ow.OnnxwrightWarning, match="OW833.*`n >= 1`"):
        program = ow.export(Sized(), (torch.rand(7, 3),), dynamic_shapes=({0: "n"},))
    for size in (1, 2, 9):
        x = torch.rand(size, 3)
        torch.testing.assert_close(program(x), Sized()(x))
    with pytest.raises(TypeError, match="n >= 1"):
        program(torch.rand(0, 3))
