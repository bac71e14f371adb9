"""Parts of a tensor by sizes that are values, joined again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor

import onnxwright as ow
from onnxwright.errors import ExportError
from tests.harness.modules import module_with

DYNAMIC = torch.export.Dim.DYNAMIC


@module_with(lambda method, dim=0, join=0: {"method": method, "dim": dim, "join": join})
def Joined(self, x: Any, n: Any) -> Any:
    """Split by values that are computed, joined again along the same axis."""
    sizes = (n.prod(-1) // 2).tolist()
    parts = x.split(sizes, self.dim) if self.method else torch.split(x, sizes, dim=self.dim)
    return torch.cat(parts, dim=self.join) * 2


@pytest.mark.share(3)
@pytest.mark.parametrize("method", [False, True])
@pytest.mark.parametrize(("dim", "join"), [(0, 0), (1, 1), (1, -1), (-1, 1)])
def test_any_number_of_parts(method: bool, dim: int, join: int) -> None:
    model = Joined(method, dim, join)
    own = FakeTensor.tolist
    axis = dim % 2
    x = torch.randn(6, 6)
    program = ow.export(
        model, (x, torch.tensor([[2, 2], [4, 2]])), dynamic_shapes=({axis: DYNAMIC}, {0: DYNAMIC})
    )
    assert FakeTensor.tolist is own
    for counts in ([[2, 2], [4, 2]], [[2, 1], [2, 3], [4, 2]], [[6, 3]]):
        n = torch.tensor(counts)
        total = int((n.prod(-1) // 2).sum())
        x = torch.randn(total, 6) if axis == 0 else torch.randn(6, total)
        torch.testing.assert_close(torch.as_tensor(program(x, n)), model(x, n))


@pytest.mark.share(3)
@pytest.mark.parametrize("named", [{"axis": 1}, {"dim": 1}, {}])
def test_joining_others_by_any_name(named: dict[str, int]) -> None:
    """The capture by source has another function for `torch.cat`, with all its names."""

    def join(x: Any) -> Any:
        y = x * 2 if x.sum() > 0 else x
        return torch.cat(tensors=[x, y], **named)

    program = ow.export(join, (torch.ones(2, 3),))
    for sign in (1, -1):
        x = sign * torch.ones(2, 3)
        torch.testing.assert_close(torch.as_tensor(program(x)), join(x))


class Longest(torch.nn.Module):
    """The parts themselves are used."""

    def forward(self, x: Any, n: Any) -> Any:
        parts = torch.split(x, n.tolist())
        return torch.stack([part.sum() for part in parts])


def test_parts_that_are_used_are_not_joined() -> None:
    """The number of parts is the example's, which is refused where it is dynamic."""
    x, n = torch.randn(6, 2), torch.tensor([2, 4])
    with pytest.raises(ExportError, match="OW821"):
        ow.export(
            Longest(), (x, n), dynamic_shapes=({0: DYNAMIC}, {0: DYNAMIC}), capture="substitutes"
        )
