"""`len(x)` and `x.new_tensor(...)` of dynamic sizes, in programs that decide by values."""

from __future__ import annotations

from typing import Any

import torch

import onnxwright as ow


def rows(x: Any) -> Any:
    """Decides nothing itself."""
    return x.reshape(len(x), -1)


def deciding(x: Any) -> Any:
    y = rows(x)
    if x.sum() > 0:
        y = y + 1
    return y, x.new_tensor([x.shape[0], 3]), torch.zeros(len(x)), x.new_tensor(x.shape[0] / 2)


def test_lengths_stay_dynamic_beside_decisions_by_values() -> None:
    program = ow.export(deciding, (torch.rand(4, 3),), dynamic_shapes=({0: "n"},))
    assert program.report.warnings == []
    for n, sign in ((4, 1), (6, -1), (1, 1), (9, 1)):
        x = sign * torch.rand(n, 3)
        for got, want in zip(program(x), deciding(x), strict=True):
            torch.testing.assert_close(got, want)


class SumsParts(torch.nn.Module):  # type: ignore[misc]
    """The sum of the parts of a tensor; how many there are is known at run time."""

    def forward(self, x: Any, count: Any) -> Any:
        total = torch.zeros((), dtype=torch.int64)
        for part in x.chunk(int(count)):
            total = total + part.sum()
        return total


def test_lengths_are_whole_numbers_where_a_float_would_round_them() -> None:
    """A float32 has all integers up to 2**24."""
    given = torch.ones(16, dtype=torch.int8), torch.tensor(4)
    program = ow.export(SumsParts(), given, dynamic_shapes=({0: "n"}, None))
    for length in (10, 2**24 + 1):
        x = torch.ones(length, dtype=torch.int8)
        assert program(x, torch.tensor(1)).item() == length
