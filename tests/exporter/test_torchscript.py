"""TorchScript: scripted and traced modules and functions, and modules that hold such."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import nn, randn

import onnxwright as ow

# torch says of TorchScript that torch.export takes it over.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Net(nn.Module):
    """Convolution, batch norm, sizes, linear."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 5)

    def forward(self, x):  # noqa: ANN001, ANN201 - TorchScript reads types
        """Logits."""
        y = torch.relu(self.norm(self.conv(x))).mean([2, 3])
        return self.head(y.view(y.size(0), -1))


class Holds(nn.Module):
    """A plain module around one of TorchScript."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        """Twice the result."""
        return self.inner(x) * 2


IMAGE = (2, 3, 6, 6)


def loaded(script: Any) -> Any:
    """A module as `torch.jit.load` gives it."""
    file = io.BytesIO()
    torch.jit.save(script, file)
    file.seek(0)
    return torch.jit.load(file)


MAKERS = {
    "loaded, scripted": lambda: loaded(torch.jit.script(Net().eval())),
    "loaded, traced": lambda: loaded(torch.jit.trace(Net().eval(), randn(*IMAGE))),
    "traced": lambda: torch.jit.trace(Net().eval(), randn(*IMAGE)),
    "scripted": lambda: torch.jit.script(Net().eval()),
    "frozen": lambda: torch.jit.freeze(torch.jit.script(Net().eval())),
    "holds traced": lambda: Holds(torch.jit.trace(Net().eval(), randn(*IMAGE))),
    "holds scripted": lambda: Holds(torch.jit.script(Net().eval())),
}


@pytest.mark.parametrize("name", MAKERS)
def test_modules(name: str) -> None:
    """The values of TorchScript, at other batches too; the module is the same afterwards."""
    torch.manual_seed(0)
    model = MAKERS[name]()
    inner = getattr(model, "inner", None)
    program = ow.export(model, (randn(*IMAGE),), dynamic_shapes=({0: "N"},))
    assert getattr(model, "inner", None) is inner
    for rows in (2, 5):
        x = randn(rows, *IMAGE[1:])
        torch.testing.assert_close(program(x), model(x).detach(), rtol=1e-4, atol=1e-5)
    if name != "frozen":
        assert any(n.endswith("head.weight") for n in program.model.graph.initializers)


class Decides(nn.Module):
    """Loops over numbers, lists, an `if` on a tensor with weights in a branch, a default."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.count = nn.Linear(4, 4), 3

    def forward(self, x, scale: float = 2.0):  # noqa: ANN001, ANN201 - TorchScript reads types
        """One of two results."""
        for i in range(self.count):
            x = self.lin(x) + i
        if x.sum() > 0:
            y = self.lin(x) * scale
        else:
            y = x - 1
        rows = []
        for row in x.unbind(0):
            rows.append(row)  # noqa: PERF402 - a list of TorchScript
        return y, torch.stack(rows)


def test_decisions() -> None:
    """Both sides of an `if` on a tensor."""
    torch.manual_seed(0)
    model = torch.jit.script(Decides())
    program = ow.export(model, (randn(3, 4),))
    assert "If" in [node.op_type for node in program.model.graph]
    sides = set()
    for shift in (-30.0, 30.0, 0.0):
        x = randn(3, 4) + shift
        got, wanted = program(x), model(x)
        sides.add(bool((wanted[1] - 1).allclose(wanted[0])))
        for a, b in zip(got, wanted, strict=True):
            torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-5)
    assert sides == {True, False}
