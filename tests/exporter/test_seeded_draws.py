"""Random numbers that a model draws after it sets the seed are the same at every call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import OnnxwrightWarning

_DRAWS: dict[str, Callable[[Any], Any]] = {
    "randn": lambda x: torch.randn(2, 3),
    "rand": lambda x: torch.rand((2, 3), dtype=torch.float64),
    "randint": lambda x: torch.randint(0, 90, (2, 3)),
    "randint of one bound": lambda x: torch.randint(90, size=(2, 3)),
    "randperm": lambda x: torch.randperm(3),
    "like": lambda x: torch.randn_like(x) + torch.rand_like(x, dtype=torch.float32),
    "one after the other": lambda x: torch.randn(3) * torch.rand(2, 1) + torch.randn(3),
}


class Drawn(torch.nn.Module):
    """Numbers that are drawn after seeds."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        super().__init__()
        self.draw = draw

    def forward(self, x: Any) -> Any:
        torch.manual_seed(3)
        first = x + self.draw(x)
        torch.manual_seed(5)
        return first, self.draw(x), self.draw(x)


@pytest.mark.parametrize("draw", _DRAWS.values(), ids=_DRAWS)
def test_numbers_are_those_of_pytorch(draw: Callable[[Any], Any]) -> None:
    model, names = Drawn(draw), ("randn", "rand", "randint", "randperm", "rand_like")
    before = [getattr(torch, name) for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(model, (torch.zeros(2, 3),))
    assert [getattr(torch, name) for name in names] == before
    x = torch.randn(2, 3)
    for found, wanted in zip(program(x), model(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(found), wanted)


def test_numbers_of_a_decision() -> None:
    """Constants within an If; what is drawn before the seed stays random."""

    class Chosen(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            noise = torch.randn(2)
            torch.manual_seed(1)
            x = x + torch.randn(3) if x.sum() > 0 else x - 1
            return x, noise

    model = Chosen()
    program = ow.export(model, (torch.ones(3),))
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(torch.as_tensor(program(x)[0]), model(x)[0])
    assert not torch.equal(*(torch.as_tensor(program(x)[1]) for _ in range(2)))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.randn(x.shape[0], 3),
        lambda x: torch.nn.init.normal_(x.clone()),
        lambda x: torch.bernoulli(x.sigmoid()),
    ],
)
def test_others_have_a_warning(draw: Callable[[Any], Any]) -> None:
    with pytest.warns(OnnxwrightWarning, match="OW860"):
        ow.export(Drawn(draw), (torch.zeros(2, 3),), dynamic_shapes=({0: "n"},))
