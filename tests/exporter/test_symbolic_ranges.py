"""Loops over `range` of sizes, whose number of iterations is known."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onnxwright.errors import ExportError
from onnxwright.exporter import export
from tests.exporter.programs import check
from tests.harness.modules import module_with


@module_with(lambda frame, isinstance_of_range=False: {"frame": frame, "asks": isinstance_of_range})
def Frames(self, x: Any) -> Any:
    """The whole length as one frame, as an audio codec does without a length of its frames."""
    length = x.shape[-1]
    step = self.frame(length)
    if self.asks and not isinstance(range(3), range):
        return x
    found = [x[..., at : at + step] * (k + 2) for k, at in enumerate(range(0, length, step))]
    return torch.cat(found, dim=-1)


@pytest.mark.parametrize("asks", [False, True])
def test_one_iteration(asks: bool) -> None:
    x = torch.randn(2, 6)
    dynamic = ({0: "batch", 1: "length"},)
    sizes = ({"batch": 3, "length": 9}, {"batch": 1, "length": 2})
    check(Frames(lambda n: n, asks), (x,), dynamic_shapes=dynamic, sizes=sizes)
    assert "range" not in globals()


def test_several_iterations() -> None:
    """All but the last, and the last."""
    dim = torch.export.Dim("n", min=3)
    model = Frames(lambda n: n - 1)
    check(model, (torch.randn(2, 6),), dynamic_shapes=({1: dim},), sizes=({"n": 4}, {"n": 3}))


def test_an_unknown_number_is_refused_with_the_line() -> None:
    """Three times for the example, other times for other lengths."""
    with pytest.raises(ExportError, match="test_symbolic_ranges"):
        export(
            Frames(lambda n: 2), (torch.randn(2, 6),),
            dynamic_shapes=({1: torch.export.Dim.DYNAMIC},), capture="substitutes",
        )  # fmt: skip
