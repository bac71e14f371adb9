"""Items of lists, modules and functions that are chosen by values of tensors."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the exporter needs torch")

import onnxwright as ow  # noqa: E402 - torch first, or skip

INPUTS = [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], [5.0, -7.0, 0.5]]


class Layers(torch.nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(count))
        for parameter in self.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator)


class ByTensor(Layers):
    def forward(self, x):
        return self.layers[x.argmax()](x)


class ByNumber(Layers):
    def forward(self, x):
        number = int((x > 0).sum())
        return self.layers[number - 1](x) + self.layers[0 if x.sum() > 0 else 1](x)


class Routed(Layers):
    def forward(self, x):
        scores, places = self.layers[0](x).softmax(-1).topk(2)
        result = torch.zeros_like(x)
        for n in range(2):
            result = result + scores[n] * self.layers[places[n]](x)
        return result


class InALoop(Layers):
    def forward(self, x):
        n = 0
        while x.abs().sum() > 0.5 and n < 4:
            x = self.layers[n % 3](x) * 0.5
            n += 1
        return x


class Functions(torch.nn.Module):
    def forward(self, x):
        act = torch.relu if x.sum() > 0 else torch.tanh
        y = act(x)
        last = (lambda v: v * 2) if y.max() > 0.5 else act
        return last(y) + y


class Parts(torch.nn.Module):
    def forward(self, x):
        found = int((x > 0).sum())
        pairs = [(x, 1.0), (x * 2, 2.0), (x - 1, 3.0), (x, 4.0)]
        value, weight = pairs[found]
        return value * weight + {0: x, 3: -x, 2: x * 3, 7: x}[found]


class Truths(torch.nn.Module):
    def forward(self, x):
        positive = bool((x > 0).all())
        if positive is True:
            return x
        if positive is not True and x[0] < 0:
            return -x
        return x * 3


class Found(torch.nn.Module):
    def forward(self, x):
        places = torch.nonzero(x > 1).flatten()
        if len(places) == 0:
            return x.sum()
        return x[places].sum() + len(places)


class Nested(torch.nn.Module):
    def forward(self, x, scale: float = 2.0):
        def inner(y, *, s=scale):
            if y.max() > 1:
                return y * s
            return y

        return inner(x)


class Captured(torch.nn.Module):
    def forward(self, x):
        fs = []
        if x.sum() > 0:
            top = x.max()
            fs.append(lambda v: v * top)
        else:
            fs.append(lambda v: v + 1)
        for f in fs:
            x = f(x)
        return x


class Generators(torch.nn.Module):
    def forward(self, x):
        total = sum(v * 2 if v > 0 else -v for v in x)
        return total + max(v for v in x) + max([x[0], x[1], x[2]], key=lambda v: v.abs())


class NamesInTests(torch.nn.Module):
    def forward(self, x):
        n = 0
        while n < 5 and (top := x.abs().max()) > 0.5:
            x = x / 2
            n += 1
        return x * n + top


MODULES = {
    "by a tensor": ByTensor(3),
    "by a number": ByNumber(3),
    "routed": Routed(3),
    "in a loop": InALoop(3),
    "functions": Functions(),
    "parts of containers": Parts(),
    "truth values": Truths(),
    "a length": Found(),
    "a nested function": Nested(),
    "generators": Generators(),
    "names bound in tests": NamesInTests(),
    "a function with a tensor of one side": Captured(),
}


@pytest.mark.parametrize("name", MODULES)
def test_each_choice_is_taken_at_run_time(name: str) -> None:
    module = MODULES[name]
    program = ow.export(module, (torch.tensor(INPUTS[0]),))
    for values in INPUTS:
        x = torch.tensor(values)
        want = module(x).detach().numpy()
        np.testing.assert_allclose(np.asarray(program(x)), want, rtol=1e-5)
