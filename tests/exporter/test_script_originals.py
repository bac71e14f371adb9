"""Scripted modules whose loops go over dynamic sizes are captured from their Python."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import onnxwright as ow
from onnxwright.errors import OnnxwrightWarning
from onnxwright.exporter.capture.torchscript.graphs import Scripted
from onnxwright.exporter.capture.torchscript.script_originals import in_python

# torch says of TorchScript that torch.export takes it over.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def smoothed(x: Tensor) -> Tensor:
    """A loop over the second axis."""
    state = torch.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = state * 0.5 + x[:, t]
    return state


class Cell(nn.Module):
    """A recurrence written by hand, with a decision and an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 4), nn.Linear(4, 4)
        self.register_buffer("scale", torch.full((4,), 2.0))
        self.times: int = 2

    def forward(self, x: Tensor) -> Tensor:
        """The states."""
        state = torch.zeros(x.shape[0], 4)
        found: list[Tensor] = []
        for t in range(x.size(1)):
            state = torch.tanh(self.inner(x[:, t]) + self.outer(state))
            found.append(state * self.scale)
        made = torch.stack(found, 1)
        if bool(made.sum() > 0):
            made = made * self.times
        return made


class Recurrent(nn.Module):
    """A recurrent layer of torch and what follows it."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.layer, self.head = kind(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Of each state."""
        made, _ = self.layer(x)
        return self.head(made)


class Twice(nn.Module):
    """Python around a scripted module."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Any) -> Any:
        """Twice what the part gives."""
        return self.part(x) * 2


MODELS = {
    "function": lambda: torch.jit.script(smoothed),
    "cell": lambda: torch.jit.script(Cell().eval()),
    "cell in Python": lambda: Twice(torch.jit.script(Cell().eval())),
    "LSTM": lambda: torch.jit.script(Recurrent(nn.LSTM).eval()),
    "GRU": lambda: torch.jit.script(Recurrent(nn.GRU).eval()),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", MODELS)
def test_sizes_stay_dynamic(name: str) -> None:
    torch.manual_seed(0)
    model = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        sizes = ({0: "batch", 1: "length"},)
        program = ow.export(model, (torch.randn(2, 5, 3),), dynamic_shapes=sizes, verify=True)
    for x in (torch.randn(3, 8, 3), -torch.rand(1, 2, 3), torch.rand(4, 1, 3)):
        torch.testing.assert_close(program(x), model(x))


def test_a_loaded_module_has_no_python(tmp_path: Any) -> None:
    torch.jit.save(torch.jit.script(Cell().eval()), tmp_path / "cell.pt")
    model = torch.jit.load(tmp_path / "cell.pt")
    assert in_python(Scripted(model), (torch.ones(1, 2, 3),), {}) is None
    x = torch.randn(1, 2, 3)
    torch.testing.assert_close(ow.export(model, (x,))(x), model(x))
    with pytest.warns(OnnxwrightWarning, match="OW827"):
        ow.export(model, (torch.ones(1, 2, 3),), dynamic_shapes=({1: "length"},))


def test_other_results_are_not_taken() -> None:
    scripted = torch.jit.script(Cell().eval())
    assert in_python(Scripted(scripted), (torch.ones(1, 2, 3),), {}) is not None
    scripted.times = 5
    python = in_python(Scripted(scripted), (torch.ones(1, 2, 3),), {})
    assert python is not None
    assert python.times == 5
    traced = torch.jit.trace(nn.Linear(3, 3), torch.ones(1, 3))
    assert in_python(Scripted(traced), (torch.ones(1, 3),), {}) is None
    assert in_python(nn.Linear(3, 3), (torch.ones(1, 3),), {}) is None
