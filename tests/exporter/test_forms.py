"""Forms of models and inputs that torch or users have, each with its result or its remedy."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch

import onnxwright as ow
from tests.harness.modules import module_with


class Pair(NamedTuple):
    a: Any
    b: Any


class Adds(torch.nn.Module):  # type: ignore[misc]
    def forward(self, p: Pair) -> Any:
        return p.a + p.b


@pytest.mark.parametrize(
    "spec",
    [
        Pair({0: "n"}, {0: "n"}),
        ({0: "n"}, {0: "n"}),
        [{0: "n"}, {0: "n"}],
        {"a": {0: "n"}, "b": {0: "n"}},
        {"a": {0: torch.export.Dim("n", min=1)}, "b": {0: torch.export.Dim.AUTO}},
    ],
)
def test_dynamic_shapes_of_a_named_tuple(spec: Any) -> None:
    given = Pair(torch.ones(3, 2), torch.ones(3, 2))
    program = ow.export(Adds(), (given,), dynamic_shapes={"p": spec})
    assert program(Pair(torch.ones(5, 2), torch.ones(5, 2))).shape == (5, 2)


class Decides(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else (x, x)  # no way takes it


class Contains(torch.nn.Module):  # type: ignore[misc]
    """Containers are not called themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.ReLU(), Decides()])
        self.named = torch.nn.ModuleDict({"inner": torch.nn.ModuleList([Decides()])})

    def forward(self, x: Any) -> Any:
        for layer in (*self.layers, self.named["inner"][0]):
            x = layer(x)
        return x


def test_bisection_enters_containers() -> None:
    found = ow.export_bisect(Contains(), (torch.ones(3),))
    assert [f.path for f in found.failing] == ["layers.1", "named.inner.0"]


def test_the_backend_may_be_named_without_a_call() -> None:
    torch._dynamo.reset()
    double = torch.compile(lambda x: x * 2, backend=ow.torch_backend)
    assert torch.equal(double(torch.ones(3)), torch.full((3,), 2.0))


def test_gradients_at_a_second_batch_size() -> None:
    """The backward pass then asks for sizes as numbers."""
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    compiled = torch.compile(model, backend=ow.torch_backend())
    for n in (3, 4, 5):
        x = torch.randn(n, 2)
        model.zero_grad()
        model(x).sum().backward()
        wanted = model[0].weight.grad.clone()
        model.zero_grad()
        compiled(x).sum().backward()
        torch.testing.assert_close(model[0].weight.grad, wanted)


@module_with(lambda: {"linear": torch.nn.Linear(2, 2), "shift": torch.ones(2)})
def Plain(self, x: Any) -> Any:
    """A tensor that is neither a parameter nor a buffer."""
    return self.linear(x) + self.shift


@pytest.mark.parametrize("fake", [False, True])
def test_a_hollow_model_with_a_plain_tensor(fake: bool) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() if fake else torch.device("meta"):
        model, x = Plain(), torch.ones(3, 2)
    program = ow.export(model, (x,))
    name = next(n for n in program.model.graph.initializers if "shift" in n)
    weights = {"linear.weight": torch.eye(2), "linear.bias": torch.zeros(2)}
    program.apply_weights({**weights, name: torch.full((2,), 5.0)})
    assert torch.equal(program(torch.ones(3, 2)), torch.full((3, 2), 6.0))


def test_no_metadata_means_none() -> None:
    def chooses(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    program = ow.export(chooses, (torch.ones(3),), metadata="off", export_modules_as_functions=True)
    assert "onnxwright.origin" not in str(program.model_proto)


@module_with(lambda: {"count": torch.nn.Buffer(torch.zeros(3))})
def Writes(self, x: Any, cache: Any) -> Any:
    """Writes into an input and a buffer, and returns both."""
    cache.index_copy_(0, torch.tensor([1]), x)
    self.count.add_(1)
    return cache, self.count, x * 2


def test_what_is_written_and_returned_is_one_output() -> None:
    args = (torch.ones(1), torch.zeros(3))
    program = ow.export(Writes(), args, verify=True)
    assert len(program.model.graph.outputs) == 3
    _, written = program.run_with_new_values(args)
    assert written["cache"].tolist() == [0, 1, 0]
    assert written["count"].tolist() == [1, 1, 1]
