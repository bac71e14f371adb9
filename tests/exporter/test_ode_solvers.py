"""Solvers of ordinary differential equations: torchdiffeq's, and as users write them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from torch import nn

import onnxwright as ow
from onnxwright.exporter.capture.replacements.traced_loops import scan, while_loop
from tests.exporter.programs import check, operators

ROWS = {"x": {0: "b"}}


class Field(nn.Module):
    """A vector field that depends on time."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3))

    def forward(self, t, y):
        """The derivative."""
        return self.net(y) * torch.cos(t)


class RungeKutta(nn.Module):
    """Fixed steps between times, as a user writes them."""

    def __init__(self):
        super().__init__()
        self.field = Field()
        self.register_buffer("times", torch.linspace(0, 1, 4))

    def forward(self, x):
        """States at all times."""
        states = [x]
        for t0, t1 in zip(self.times[:-1], self.times[1:]):
            y, h = states[-1], t1 - t0
            k1 = self.field(t0, y)
            k2 = self.field(t0 + h / 2, y + h / 2 * k1)
            states.append(y + h * k2)
        return torch.stack(states)


class Adaptive(nn.Module):
    """Steps as large as their error allows, as a user writes them."""

    def __init__(self):
        super().__init__()
        self.field = Field()

    def forward(self, x):
        """The state at the end, and how many steps were tried."""
        t, h = torch.zeros(()), torch.tensor(0.5)
        tried = torch.zeros((), dtype=torch.int64)
        while t < 1:
            h = torch.minimum(h, 1 - t)
            k1 = self.field(t, x)
            k2 = self.field(t + h, x + h * k1)
            error = (h * (k2 - k1) / 2).abs().max()
            if error < 1e-2:
                x, t = x + h * (k1 + k2) / 2, t + h
            h = h * torch.clamp(0.9 * torch.sqrt(1e-2 / (error + 1e-12)), 0.2, 2.0)
            tried = tried + 1
        return x, tried


@pytest.mark.parametrize(("kind", "ops"), [(RungeKutta, {}), (Adaptive, {"Loop": 1})])
def test_written_by_users(kind: Any, ops: dict[str, int]) -> None:
    """Loops over times that are known, and loops that errors decide."""
    torch.manual_seed(0)
    model = kind()
    program = check(model, (torch.randn(2, 3),), dynamic_shapes=ROWS)
    assert operators(program).get("Loop", 0) == ops.get("Loop", 0)
    # Other values, so that other steps are refused.
    large = torch.randn(4, 3) * 8
    for got, wanted in zip(program(large), model(large)):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-4)


class TracedLoops(nn.Module):
    """The loops that solvers are captured as: with weights, and with a count that is written."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        """Rows of states; each is halved until it is small."""

        def halve(y: Any) -> list[Any]:
            self.steps.add_(1)
            return [y / 2]

        def step(y: Any, time: Any) -> tuple[list[Any], list[Any]]:
            y = torch.tanh(self.layer(y)) * time
            (small,) = while_loop(lambda y: y.abs().max() > 0.2, halve, [y])
            return [y], [small, time * 2]

        times = torch.arange(1.0, 5.0)
        return scan(step, [x], [times])


class WrittenOut(TracedLoops):
    """The same in Python."""

    def forward(self, x):
        """Rows of states."""
        rows, times = [], torch.arange(1.0, 5.0)
        for time in times:
            x = torch.tanh(self.layer(x)) * time
            y = x
            while y.abs().max() > 0.2:
                y = y / 2
                self.steps.add_(1)
            rows.append(y)
        return [x], [torch.stack(rows), times * 2]


def test_traced_loops() -> None:
    """`scan` and `while_loop`, one within the other, give what Python does."""
    import onnxwright as ow

    torch.manual_seed(0)
    ours, python = TracedLoops(), WrittenOut()
    python.load_state_dict(ours.state_dict())
    program = ow.export(ours, (torch.randn(2, 3),), dynamic_shapes=ROWS)
    counts = operators(program)
    assert (counts["Scan"], counts["Loop"]) == (1, 1)
    x = torch.randn(5, 3) * 3
    torch.testing.assert_close(program(x), python(x))


METHODS: list[tuple[str, bool, dict[str, Any]]] = [
    ("euler", False, {}),
    ("rk4", False, {"options": {"step_size": 0.3}}),
    ("midpoint", True, {"options": {"step_size": 0.3, "interp": "cubic", "perturb": True}}),
    ("heun3", False, {"options": {"grid_constructor": lambda f, y, t: t + (t - t[0]) * 0}}),
    ("dopri5", True, {"rtol": (1e-4, 1e-5), "atol": 1e-5}),
    ("dopri8", False, {"rtol": 1e-3, "atol": 1e-3}),
    ("bosh3", True, {"rtol": 1e-3, "atol": 1e-3, "options": {"first_step": 0.1, "max_step": 0.4}}),
]


class Solved(nn.Module):
    """A neural ODE; with several tensors, or with a wanted time for each row of `t`."""

    def __init__(self, solve: Any, method: str, options: dict[str, Any], *, pair: bool) -> None:
        super().__init__()
        self.field, self.solve, self.pair = Field(), solve, pair
        self.method, self.options = method, options

    def forward(self, x, t):
        """States at times."""
        if not self.pair:
            return self.solve(self.field, x, t, method=self.method, **self.options)
        return self.solve(self, (x, x[:, :1]), t, method=self.method, **self.options)

    def __call__(self, first, second):
        """The module, or its own field of two tensors."""
        if isinstance(second, tuple):
            a, b = second
            return self.field(first, a), torch.sin(b) - a.sum(1, keepdim=True)
        return super().__call__(first, second)


@pytest.mark.share(4)
@pytest.mark.parametrize(("method", "pair", "options"), METHODS)
def test_torchdiffeq(method: str, pair: bool, options: dict[str, Any]) -> None:
    """Times that increase or decrease, of any number; values with other steps."""
    torchdiffeq = pytest.importorskip("torchdiffeq", reason="the solvers of torchdiffeq")
    import onnxwright as ow

    torch.manual_seed(0)
    solve = torchdiffeq.odeint_adjoint if method == "bosh3" else torchdiffeq.odeint
    model = Solved(solve, method, options, pair=pair).double().requires_grad_(False)
    args = (torch.randn(2, 3).double(), torch.linspace(0, 1, 4).double())
    program = ow.export(model, args, dynamic_shapes={"x": {0: "b"}, "t": {0: "n"}}, strict=True)
    counts = operators(program)
    assert counts["Scan"] == 1
    assert counts.get("Loop", 0) == ("atol" in options)
    for times in (torch.linspace(0, 1.5, 6), torch.linspace(1, -1, 3)):
        given = torch.randn(4, 3).double() * 3, times.double()
        torch.testing.assert_close(program(*given), model(*given), rtol=1e-6, atol=1e-7)


class Importing(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        from torchdiffeq import odeint

        return odeint(lambda t, y: torch.sin(y), x, torch.tensor([0.0, 1.0]))


def test_a_model_imports_torchdiffeq_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "torchdiffeq"]:
        monkeypatch.delitem(sys.modules, name)
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    program = ow.export(Importing(), (x,))
    assert "torchdiffeq" in sys.modules, "capture imported it"
    torch.testing.assert_close(program(x * 2), Importing()(x * 2), rtol=1e-4, atol=1e-5)
