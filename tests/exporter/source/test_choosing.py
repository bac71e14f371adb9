"""Items of lists, modules and functions that are chosen by values of tensors."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
import torch

import onnxwright as ow
from onnxwright.errors import EagerError, ExportError
from onnxwright.exporter.capture.rewritten import intrinsics

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


class LayersAndFactors(Layers):
    def forward(self, x):
        pairs = [(self.layers[0], 1.0), (self.layers[1], 2.0), (self.layers[2], 3.0)]
        layer, factor = pairs[x.argmax()]
        return layer(x) * factor + layer.weight.sum()


class FunctionsOfSides(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 5:
            act = torch.relu
        elif x.sum() > 0:
            act = torch.tanh
        elif x[0] < -10:
            act = torch.neg
        else:
            act = torch.sigmoid if x.max() < -0.5 else torch.abs
        if x[1] < 0:
            act = [act, torch.exp][int(x[2] > 0)]
        return act(x) * 2


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
    "layers in containers": LayersAndFactors(3),
    "functions of sides of sides": FunctionsOfSides(),
    "truth values": Truths(),
    "a length": Found(),
    "a nested function": Nested(),
    "generators": Generators(),
    "names bound in tests": NamesInTests(),
    "a function with a tensor of one side": Captured(),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", MODULES)
def test_each_choice_is_taken_at_run_time(name: str) -> None:
    module = MODULES[name]
    program = ow.export(module, (torch.tensor(INPUTS[0]),))
    for values in INPUTS:
        x = torch.tensor(values)
        want = module(x).detach().numpy()
        np.testing.assert_allclose(np.asarray(program(x)), want, rtol=1e-5)


def item_of_a_list(x, n):
    return [x, x * 2, -x][n]


def item_by_a_number(x, n):
    return (x, x * 2, -x)[int(n)]


def item_of_a_dict(x, n):
    return {0: x, 1: x * 2, -1: -x, 5: x - 1}[int(n)]


def item_by_a_truth(x, n):
    return (x, -x)[bool(n > 0)]


def item_on_one_side(x, n):
    return [x, x * 2, -x][n] if x.sum() > 0 else x


def called_function(x, n):
    return (torch.relu, torch.tanh, torch.neg)[n](x)


def key_that_is_a_tensor(x, n):
    n = n if x.sum() > 0 else n + 1
    return x if n in {0: 1} else (x, x * 2, x * 3)[n % 3]


ITEMS = (
    item_of_a_list, item_by_a_number, item_of_a_dict, item_by_a_truth, item_on_one_side,
    called_function, key_that_is_a_tensor,
)  # fmt: skip


@pytest.mark.parametrize("function", ITEMS, ids=lambda f: f.__name__)
def test_an_index_that_python_does_not_take_is_an_error_of_the_model(function) -> None:
    given = (torch.tensor(INPUTS[0]), torch.tensor(1))
    program = ow.export(function, given)
    for n in (0, 1, 2, -1, -3, 3, 5, -4):
        for values in INPUTS[:2]:
            x, number = torch.tensor(values), torch.tensor(n)
            try:
                want = function(x, number)
            except (IndexError, KeyError):
                with pytest.raises(EagerError):
                    program(x, number)
            else:
                np.testing.assert_allclose(np.asarray(program(x, number)), want.numpy(), rtol=1e-5)


def of_a_float(x, n):
    return [x, -x][x.max()]


def of_a_dict_by_a_tensor(x, n):
    return {0: x, 1: -x}[n]


@pytest.mark.parametrize("function", [of_a_float, of_a_dict_by_a_tensor])
def test_what_python_never_takes_as_an_index_is_refused(function) -> None:
    given = (torch.tensor(INPUTS[0]), torch.tensor(1))
    with pytest.raises((TypeError, KeyError)):
        function(*given)
    with pytest.raises(ExportError, match="OW821"):
        ow.export(function, given)


def test_a_place_in_equal_items_is_not_checked() -> None:
    program = ow.export(lambda x, n: (x, x)[n] * 2, (torch.ones(2), torch.tensor(1)))
    assert [c.kind for c in program.report.captures[-1].choices] == ["check left out"]


def numbers_of_truths(x):
    n = int(x.sum() > 0)
    k = int(int((x > 0).sum()) > 1)
    return [x, -x][n] * float((x > 1).any()) + (x, x * 2, x * 3)[n + k] * int(x[0] > 0) + n


def test_truth_values_are_numbers() -> None:
    program = ow.export(numbers_of_truths, (torch.tensor(INPUTS[0]),))
    for values in INPUTS:
        x = torch.tensor(values)
        np.testing.assert_allclose(np.asarray(program(x)), numbers_of_truths(x).numpy(), rtol=1e-5)


def largest_of_numbers(x):
    return x * max([1, 2], default=0) if x.sum() > 0 else x - min((3, 1), default=7)


def default_that_is_a_tensor(x):
    if x.sum() > 0:
        x = x + 1
    return min([], default=x) + max((), key=len, default=1)


def largest_with_a_default(x):
    return max((v for v in x), default=0) - min(iter([x[0], x[1], x[2]]), default=x)


def largest_by_a_key_with_a_default(x):
    return max(iter(x), key=lambda v: v.abs(), default=0)


def keys_that_are_known(x):
    first = max([x, x * 2, x - 1], key=lambda v: v.ndim)
    if x.sum() > 0:
        first = first + max({"a": 1, "ccc": 2, "bbb": 3}, key=len).count("c")
    return first * max(*[2, 5], key=lambda n: -n)


EXTREMES = (
    largest_of_numbers, default_that_is_a_tensor, largest_with_a_default,
    largest_by_a_key_with_a_default, keys_that_are_known,
)  # fmt: skip


@pytest.mark.parametrize("function", EXTREMES, ids=lambda f: f.__name__)
def test_max_and_min_take_what_python_takes(function) -> None:
    program = ow.export(function, (torch.tensor(INPUTS[0]),))
    for values in INPUTS:
        x = torch.tensor(values)
        np.testing.assert_allclose(np.asarray(program(x)), function(x).numpy(), rtol=1e-5)


MISUSES = {
    "nothing to compare": ("max", ([],), {}),
    "an unknown option": ("max", ([1],), {"first": 2}),
    "a default beside items": ("min", (1, 2), {"default": 2}),
    "no iterable": ("min", (3,), {}),
    "no arguments": ("max", (), {"key": len}),
    "items that do not compare": ("max", ([1, "a"],), {"default": 0}),
}


@pytest.mark.parametrize("name", MISUSES)
def test_errors_of_max_and_min_are_those_of_python(name: str) -> None:
    function, args, options = MISUSES[name]
    with pytest.raises((TypeError, ValueError)) as theirs:
        getattr(builtins, function)(*args, **options)
    with pytest.raises(type(theirs.value)) as ours:
        intrinsics.BUILTINS[function].call(*args, **options)
    assert str(ours.value) == str(theirs.value)


class ByRank(torch.nn.Module):
    """A decision by the rank that an earlier decision left."""

    def forward(self, x):
        y = x
        if x.sum() > 0:
            y = x.sum(0)
        return y * 2 if y.ndim == 1 else y.mean(0)


def test_a_comparison_of_a_rank_knows_which_tensor_it_is() -> None:
    program = ow.export(ByRank(), (torch.ones(2, 3),), dynamic_shapes=({0: "b"},))
    for x in (torch.ones(2, 3), -torch.ones(4, 3)):
        torch.testing.assert_close(program(x), ByRank()(x))
