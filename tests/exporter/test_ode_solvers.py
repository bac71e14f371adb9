"""Solvers of ordinary differential equations: torchdiffeq's, and as users write them."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
import torch
from torch import nn

import onnxwright as ow
from onnxwright.errors import OnnxwrightWarning
from onnxwright.exporter.capture.control import replacement_table as table
from tests.exporter.programs import check, operators
from tests.harness.modules import module_with

ROWS = {"x": {0: "b"}}


@module_with(lambda: {"net": nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3))})
def Field(self, t, y):
    """A vector field that depends on time."""
    return self.net(y) * torch.cos(t)


@module_with(lambda: {"field": Field(), "times": nn.Buffer(torch.linspace(0, 1, 4))})
def RungeKutta(self, x):
    """Fixed steps between times, as a user writes them."""
    states = [x]
    for t0, t1 in zip(self.times[:-1], self.times[1:]):
        y, h = states[-1], t1 - t0
        k1 = self.field(t0, y)
        k2 = self.field(t0 + h / 2, y + h / 2 * k1)
        states.append(y + h * k2)
    return torch.stack(states)


@module_with(lambda: {"field": Field()})
def Adaptive(self, x):
    """Steps as large as their error allows, as a user writes them."""
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


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("euler", {}),
    ("rk4", {"step_size": 0.3}),
    ("heun3", {"grid_constructor": lambda f, y, t: t + (t - t[0]) * 0}),
]


@module_with(lambda method, options: {"field": Field(), "method": method, "options": options})
def Solved(self, x, t):
    """A neural ODE of torchdiffeq."""
    from torchdiffeq import odeint

    return odeint(self.field, x, t, method=self.method, options=self.options)


@pytest.mark.share(3)
@pytest.mark.parametrize(("method", "options"), METHODS)
def test_torchdiffeq_with_fixed_steps(method: str, options: dict[str, Any], monkeypatch) -> None:
    """Captured as any Python that decides by values: times in either order, of any number."""
    pytest.importorskip("torchdiffeq", reason="the solvers of torchdiffeq")
    for name in [n for n in sys.modules if n.partition(".")[0] == "torchdiffeq"]:
        monkeypatch.delitem(sys.modules, name)  # the module imports it within `forward`
    torch.manual_seed(0)
    model = Solved(method, options).double().requires_grad_(False)
    args = (torch.randn(2, 3).double(), torch.linspace(0, 1, 4).double())
    with pytest.warns(OnnxwrightWarning, match="OW833.*`n > 1`"):
        program = ow.export(model, args, dynamic_shapes={"x": {0: "b"}, "t": {0: "n"}})
    for times in (torch.linspace(0, 1.5, 6), torch.linspace(1, -1, 3)):
        given = torch.randn(4, 3).double() * 3, times.double()
        torch.testing.assert_close(program(*given), model(*given), rtol=1e-6, atol=1e-7)


@pytest.mark.slow  # 40 s: a loop in which every step decides whether it is taken
def test_adaptive_steps_of_torchdiffeq_are_a_loop() -> None:
    pytest.importorskip("torchdiffeq", reason="the solvers of torchdiffeq")
    model, times = Solved("dopri5", {}), torch.linspace(0, 1, 4)
    program = ow.export(model, (torch.randn(2, 3), times))
    for x, t in itertools.product((torch.randn(2, 3), torch.randn(2, 3) * 20), (times, times * 5)):
        torch.testing.assert_close(program(x, t), model(x, t), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_adams_of_torchdiffeq_is_refused() -> None:
    pytest.importorskip("torchdiffeq", reason="the solvers of torchdiffeq")
    with pytest.raises(ow.ExportError, match=r"OW840.*\n.*fixed_adams.py"):
        ow.export(Solved("explicit_adams", {}), (torch.randn(2, 3), torch.linspace(0, 1, 4)))


@pytest.mark.slow  # 4 s
def test_adaptive_steps_are_replaced_by_fixed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torchdiffeq", reason="the solvers of torchdiffeq")
    monkeypatch.setattr(table, "_BY_NAME", dict(table._BY_NAME))

    @ow.export_replacement("torchdiffeq.odeint", reason="adaptive steps decide by errors")
    def fixed(own, func, y0, t, **_):
        return own(func, y0, t, method="rk4", options={"step_size": 0.05})

    model, times = Solved("dopri5", {}), torch.linspace(0, 1, 4)
    program = ow.export(model, (torch.randn(2, 3), times))
    x = torch.randn(2, 3)
    torch.testing.assert_close(program(x, times), model(x, times), rtol=1e-4, atol=1e-4)
