"""torch.func within models: derivatives and vectorized functions are written out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn, randn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import onnxwright as ow
from onnxwright.errors import ExportError
from tests.exporter.programs import Program, Programs, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
ROWS = {"x": {0: "b"}}


def _matrix() -> tuple[Any, ...]:
    return (randn(4, 6),)


@PROGRAMS(_matrix, dynamic=ROWS)
def gradient(x):
    """Of a function of one tensor, scaled by a size."""
    return grad(lambda x: (x.sin() ** 2).sum())(x) * x.shape[0]


@PROGRAMS(_matrix, dynamic=ROWS)
@module_with(lambda: {"inner": nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))})
def GradientThroughModule(self, x):
    """The function is a module with weights."""
    return {"force": -grad(lambda x: self.inner(x).sum())(x)}


@PROGRAMS(_matrix, dynamic=ROWS)
@module_with(lambda: {"layer": nn.Linear(6, 1)})
def StepOfTraining(self, x):
    """Weights are moved against their gradient before they are used."""
    weights = dict(self.layer.named_parameters())

    def loss(weights):
        return (functional_call(self.layer, weights, (x,)) ** 2).mean()

    steps = grad(loss)(weights)
    moved = {name: w - 0.1 * steps[name] for name, w in weights.items()}
    return functional_call(self.layer, moved, (x,))


@PROGRAMS(_matrix, dynamic=ROWS)
def gradient_of_rows(x):
    return vmap(grad(lambda row: (row**3).sum()))(x)


@PROGRAMS(_matrix, dynamic=ROWS)
def other_axes(x):
    """vmap over the second axis; a result along the second."""
    return vmap(lambda a, b: (a @ b, a + b), in_dims=(1, 1), out_dims=(0, 1))(x, x)


@PROGRAMS(lambda: (randn(3),))
def matrices_of_derivatives(x):
    """Backwards, then forwards."""
    return jacrev(lambda x: x**2)(x), hessian(lambda x: (x**3).sum())(x)


@PROGRAMS(_matrix, dynamic=ROWS)
def products_of_derivatives(x):
    """vjp and jvp."""
    y, back = vjp(torch.sin, x)
    return back(y), jvp(torch.cos, (x,), (torch.ones_like(x),))


@PROGRAMS(_matrix)
class ForwardDerivatives(nn.Module):
    """Rules with zero tangents of weights, of joined tensors and of norms, which fix sizes."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 1))

    def forward(self, x):
        def energy(x):
            return self.net(torch.cat([x, x / 2 - x.sin()], 1))

        slope = jvp(energy, (x,), (torch.ones_like(x),))[1]
        return slope, jvp(grad(lambda x: energy(x).pow(2).sum()), (x,), (x * 2,))[1]


@PROGRAMS(_matrix)
class ForwardThroughLayers(nn.Module):
    """Layers whose forward rule has sizes as integers, and a recurrent one."""

    def __init__(self):
        super().__init__()
        self.bn, self.linear = nn.BatchNorm1d(6).eval(), nn.Linear(6, 6)
        self.gn, self.instance = nn.GroupNorm(3, 6), nn.InstanceNorm1d(6)
        self.gru = nn.GRU(2, 3, batch_first=True)
        self.bn.running_mean.uniform_()

    def forward(self, x):
        layers = (
            self.linear,
            lambda x: self.gn(self.bn(x)),
            lambda x: self.instance(x.unsqueeze(-1) * torch.arange(1.0, 4)),
            lambda x: self.gru(x.reshape(-1, 3, 2))[0],
            lambda x: torch.stack([x, (x * x + 1).sqrt(), torch.where(x > 0, x, x * 2)]),
        )
        return [jvp(layer, (x,), (x * 2,)) for layer in layers]


@PROGRAMS(_matrix, dynamic=({0: torch.export.Dim.DYNAMIC},))
def forward_derivatives_with_numbers(x):
    """The rules of products and sums with numbers read sizes as integers, without an error."""
    return jvp(lambda x: (x * 2 - 1) / 3, (x,), (x.cos(),))


@PROGRAMS(_matrix, dynamic=ROWS)
def curvature_of_rows(x):
    """Second derivatives and Jacobians of each row; rows in chunks."""
    second = vmap(hessian(lambda row: (row.sin() ** 2).sum()))(x)
    return second, vmap(jacfwd(torch.cos), chunk_size=2)(x)


@PROGRAMS(_matrix)
def data_of_a_result(x):
    """`.data` is not seen by capture without tracing of Python."""
    return (x * 2).data + 1


@pytest.mark.share(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Program) -> None:
    run(program)


def test_weights_keep_their_names() -> None:
    program = ow.export(GradientThroughModule(), _matrix())
    other = GradientThroughModule()
    program.apply_weights(other.state_dict())
    x = randn(4, 6)
    torch.testing.assert_close(program(x)["force"], other(x)["force"])


def test_a_failure_leaves_no_level_of_torch_func() -> None:
    def model(x: Any) -> Any:
        return vmap(lambda row: row if row.sum() > 0 else None)(x)

    with pytest.raises(ExportError):
        ow.export(model, _matrix())
    assert torch._C._functorch.peek_interpreter_stack() is None
    assert jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))[1] > 0


def test_vmap_on_one_side_of_a_decision_is_refused_with_its_line() -> None:
    def one_side(x: Any) -> Any:
        return vmap(torch.sin)(x) if x.sum() > 0 else x

    with pytest.raises(ExportError, match=r"OW821(?s:.*)`torch.vmap` cannot be captured on one"):
        ow.export(one_side, _matrix())
