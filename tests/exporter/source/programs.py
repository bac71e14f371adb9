"""Programs that decide by values, and inputs that take all of their ways.

They are code of users: without annotations, and not always in good style.
"""

# ruff: noqa: E731, PLW0603

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import torch
from torch import nn

from tests.exporter.source.tables import Table, adding_to
from tests.harness.modules import module_with

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""
SIZES = (2, 3, 5)


@program
def if_else(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x * 2
    return y


@program
def if_alone(x):
    y = x
    if x.max() > 1:
        y = y - x.max()
    return y


@program
def if_returns(x):
    if x.sum() > 0:
        return x + 1
    return x * 2


@program
def if_elif_else(x):
    if x.sum() > 2:
        return x + 1
    elif x.sum() > 0:
        return x * 2
    elif x.min() < -1:
        y = x / 2
    else:
        y = x.abs()
    return y.relu()


@program
def nested(x):
    if x.sum() > 0:
        if x.max() > 1:
            y = x / x.max()
        else:
            y = x
        z = y + 1
    else:
        z = x - 1
        if z.min() < -2:
            z = z.clamp(min=-2)
    return z


@program
def correlated(x):
    if x.sum() > 0:
        y = x + 1
    z = x * 3
    if x.sum() > 0:
        return y
    return z


@program
def number(x):
    if x.sum() > 0:
        k = 2
    else:
        k = 3
    return x * k


@program
def number_and_float(x):
    scale = 1
    if x.sum() > 0:
        scale = 0.5
    return x * scale


@program
def truth_value(x):
    big = False
    if x.max() > 1:
        big = True
    if big:
        return x / 2
    return x


@program
def logic_and(x):
    if x.sum() > 0 and x.max() > 1:
        return x + 1
    return x


@program
def logic_or(x):
    if x.sum() > 0 or x.min() < -1:
        return x + 1
    return x


@program
def logic_not(x):
    if not x.sum() > 0:
        return x + 1
    return x - 1


@program
def logic_mixed(x, flag: bool = True):
    if flag and (x.sum() > 0 or not (x > -1).all()):
        return x + 1
    return x


@program
def logic_of_options(x):
    wanted, unwanted = True, False
    pair = (x, x * 2) if x.sum() > 0 and unwanted else (x,)
    if x.sum() > 0 or wanted:
        pair += (x + 1,)
    return pair


@program
def writes_through_views(x):
    y = x.clone()
    rows = (x[:, 0] > 0).nonzero().squeeze(1)
    if x.sum() > 0:
        y.transpose(0, 1)[0] = 5
        y.view(-1)[1:3] += 2
        z = x[rows].clone()
        z[:, 1] = len(z)
        y = torch.cat([y, z.unsqueeze(0)[0]])
    return y


@program
def logic_values(x):
    y = (x.sum() > 0) or (x.min() > -1)
    return y, x


@program
def ternary(x):
    return x + 1 if x.sum() > 0 else x - 1


@program
def ternary_of_numbers(x):
    k = 2 if x.sum() > 0 else 5
    return x * k


@program
def comparison_chain(x):
    if 0 < x.sum() < 3:
        return x + 1
    return x


@program
def any_all(x):
    if any(row.sum() > 1 for row in x.T) and not all(row.sum() > 0 for row in x.T):
        return x + 1
    return x


@program
def while_loop(x):
    while x.abs().sum() > 2:
        x = x / 2
    return x


@program
def while_with_count(x):
    steps = 0
    while x.abs().max() > 0.5:
        x = x * 0.5
        steps += 1
    return x, x * steps


@program
def while_error(x):
    u, error, n = x.sum(), x.sum() * 0 + 1.0, 0
    while n < 30 and error > 0.1:
        last = u
        u = u * 0.5
        error = (u - last).abs()
        n = n + 1
    return u


@program
def while_going(x):
    going = x.sum() > 0
    while going:
        x = x - 0.5
        going = x.max() > 0
    return x


@program
def while_break(x):
    n = 0
    while n < 6:
        x = x * 1.5
        if x.abs().max() > 4:
            break
        n += 1
    return x


@program
def while_true(x):
    while True:
        x = x + 1
        if x.sum() > 3:
            return x


@program
def while_continue(x):
    n = torch.tensor(0)
    while n < 5:
        n = n + 1
        if (x.sum() * n) > 3:
            continue
        x = x + 0.5
    return x


@program
def while_else(x):
    n = torch.zeros(())
    while n < 4:
        if x.sum() > 4:
            break
        x = x + 0.25
        n = n + 1
    else:
        x = -x
    return x


@program
def for_break(x):
    for i in range(5):
        if x.sum() > 3:
            break
        x = x + i
    return x


@program
def for_continue(x):
    y = x
    for i in range(4):
        if (x.sum() + i) > 1:
            continue
        y = y + i
    return y


@program
def for_return(x):
    for i in range(4):
        if x.max() > i:
            return x * i
    return x - 1


@program
def for_else(x):
    for _ in range(3):
        if x.sum() > 4:
            break
        x = x + 0.5
    else:
        return x * 10
    return x


@program
def for_range_of_tensor(x):
    n = (x > 0).sum()
    y = torch.zeros_like(x)
    for i in range(n):
        y = y + x * i
    return y


@program
def for_rows_break(x):
    total = torch.zeros(x.shape[1])
    for row in x.unbind(1)[:2]:
        if row.sum() < 0:
            break
        total = total + row.sum()
    return total


@program
def while_in_while(x):
    i = torch.tensor(0)
    while i < 3:
        j = torch.tensor(0)
        while j < i:
            x = x + 0.5
            j = j + 1
        i = i + 1
        if x.sum() > 5:
            break
    return x


@program
def if_in_for_in_if(x):
    if x.sum() > 0:
        for i in range(3):
            if x.max() > i:
                x = x + i
            else:
                x = x - i
    return x


def _helper(x, limit):
    if x.sum() > limit:
        return x - limit
    return x + limit


@program
def helper_function(x):
    y = _helper(x, 1.0)
    if y.max() > 1:
        y = _helper(y, 0.5)
    return y


def _recursive(x, depth):
    if depth == 0:
        return x
    if x.sum() > depth:
        return _recursive(x / 2, depth - 1)
    return _recursive(x + 1, depth - 1)


@program
def recursion(x):
    return _recursive(x, 3)


@program
def closure(x):
    def inner(y):
        nonlocal total
        if y.sum() > 0:
            total = total + y
        return y * 2

    total = torch.zeros_like(x)
    z = inner(x)
    z = inner(-z)
    return total + z


@program
def tuple_of_results(x):
    if x.sum() > 0:
        a, b = x + 1, x - 1
    else:
        b, a = x * 2, x / 2
    return a, b


@program
def dictionary(x):
    out = {"a": x}
    if x.sum() > 0:
        out = {"a": x + 1}
    return out["a"]


@program
def dictionary_item(x):
    out = {"a": x, "b": x * 2}
    if x.sum() > 0:
        out["a"] = x + 1
    return out["a"] + out["b"]


@program
def list_item(x):
    out = [x, x * 2]
    if x.sum() > 0:
        out[1] = x - 1
    return out[0] * out[1]


@program
def list_append_both(x):
    out = [x]
    if x.sum() > 0:
        out.append(x + 1)
    else:
        out.append(x - 1)
    return torch.cat(out)


class _Pair(NamedTuple):
    first: Any
    second: Any


@program
def named_tuple(x):
    if x.sum() > 0:
        pair = _Pair(x, x + 1)
    else:
        pair = _Pair(x - 1, x)
    return pair.first * pair.second


@dataclasses.dataclass
class _Data:
    value: Any
    scale: Any = 1.0


@program
def data_class(x):
    data = _Data(x)
    if x.sum() > 0:
        data = _Data(x + 1, 2.0)
    return data.value * data.scale


@program
def data_class_attribute(x):
    data = _Data(x)
    if x.sum() > 0:
        data.value = x + 3
        data.scale = 2.0
    return data.value * data.scale


@program
def in_place_add(x):
    y = x * 1
    if x.sum() > 0:
        y += 1
    return y


@program
def in_place_item(x):
    y = x.clone()
    if x.sum() > 0:
        y[0] = 7.0
        y[:, 1] += 1
    return y


@program
def in_place_method(x):
    y = x.clone()
    if x.sum() > 0:
        y.mul_(2).add_(1)
    else:
        y.zero_()
    return y


@program
def in_place_loop(x):
    y = x.clone()
    n = torch.tensor(0)
    while n < (x > 0).sum():
        y += 1
        n += 1
    return y


@program
def in_place_row_loop(x):
    y = torch.zeros(4)
    i = torch.tensor(0)
    while i < (x.sum() > 0) * 3:
        y[i] = x.mean() + i
        i = i + 1
    return y


@program
def check_left_out(x):
    if torch.isnan(x).any():
        raise ValueError("not a number")
    assert (x < 100).all(), "too large"
    return x + 1


@program
def item_decision(x):
    n = (x > 0).sum().item()
    if n > 2:
        return x + n
    return x - n


@program
def maximum_of_tensors(x):
    return x * max(x.sum(), x.max(), torch.tensor(0.5)), x * min(x[0, 0], x[0, 1])


@program
def no_grad_block(x):
    with torch.no_grad():
        if x.sum() > 0:
            return x + 1
        y = x * 2
    return y - 1


@program
def try_block(x):
    try:
        if x.sum() > 0:
            x = x + 1
    except ValueError:
        x = x - 1
    return x


@torch.no_grad()
def _decorated(x):
    if x.sum() > 0:
        return x + 1
    return x


def _twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        y = function(*args, **kwargs)
        if y.max() > 2:
            return y
        return function(y, **kwargs)

    return wrapper


@_twice
def _wrapped(x, *more, step=1.0, **rest):
    if x.sum() > 0:
        return x + step
    return x - rest.get("other", 0.5)


@torch.fx.wrap
def _whole_for_fx(x):
    kept = x[x[:, 0] > 0]
    if x.sum() > 0:
        kept = kept * 2
    return torch.zeros((len(kept), 2)).sum() + kept.sum()


@program
def decorated(x):
    return _decorated(x) * _wrapped(x, other=0.25)


@program
def left_whole_by_fx(x):
    return _whole_for_fx(x)


@program
def default_arguments(x, scale=2.0, *, shift=1.0):
    if x.sum() > 0:
        x = x * scale
    return x + shift


@program
def walrus(x):
    if (s := x.sum()) > 0:
        return x + s
    return x - s


@program
def membership(x):
    n = (x > 0).sum()
    if n in (0, 2, 4):
        return x + 1
    return x


@program
def augmented_in_branches(x):
    s = 0.0
    for column in x.unbind(1):
        if column.sum() > 0:
            s += column.max()
        else:
            s -= column.min()
    return x * s


@program
def two_dtypes(x):
    if x.sum() > 0:
        y = (x > 0).float()
    else:
        y = x
    return y


@program
def zero_or_tensor(x):
    loss = 0
    if x.sum() > 0:
        loss = x.sum()
    return x + loss


@program
def cat_in_branch(x):
    if x.sum() > 0:
        y = torch.cat([x, x])
    else:
        y = x
    return y


@program
def newton(x):
    a = x.abs().sum() + 1
    guess = a
    for _ in range(4):
        following = 0.5 * (guess + a / guess)
        if (following - guess).abs() < 1e-3:
            return following
        guess = following
    return guess


@program
def in_place_on_a_constant(x):
    n = torch.tensor(1)
    if x.sum() > 0:
        n += 2
    while n < 4:
        n += 1
        x = x + 1
    return x


_COUNT = 0


@program
def global_number(x):
    global _COUNT
    _COUNT = 0
    if x.sum() > 0:
        _COUNT = 2
    return x + _COUNT


@program
def aliases_of_numbers(x):
    a = b = 0
    while x.abs().max() > 0.5:
        x = x / 2
        a += 1
        b = a
        a += 1
    return x + a, x - b


@program
def starred(x):
    if x.sum() > 0:
        first, *rest = x.unbind(1)
    else:
        *rest, first = x.unbind(1)
    return first + sum(rest)


@program
def lambda_decides(x):
    pick = lambda a, b: a if a.sum() > b.sum() else b
    return pick(x, -x) + 1


@program
def comprehension(x):
    parts = [c * 2 if c.sum() > 0 else -c for c in x.unbind(1)]
    return torch.stack(parts, 1)


@program
def long_loop(x):
    total = torch.zeros_like(x)
    for i in range(40):
        if total.sum() > 20:
            break
        total = total + x.abs() * i
    return total


@program
@module_with(lambda: {"linear": nn.Linear(4, 4), "scale": torch.ones(4) * 2})
def Plain(self, x):
    h = self.linear(x)
    if h.sum() > 0:
        return h * self.scale
    return self.linear(h)


@module_with(lambda inner: {"inner": inner})
def _Gate(self, x):
    if self.inner is not None and x.mean() > 0:
        return self.inner(x)
    return x


@program
class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([_Gate(nn.Linear(4, 4)), _Gate(None), _Gate(nn.Tanh())])
        self.head = nn.Sequential(_Gate(nn.Linear(4, 4)), nn.ReLU())

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


@program
class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
        self.confident = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
            if torch.sigmoid(self.confident(x)).mean() > 0.5:
                return x
        return -x


@module_with(lambda: {"__private": 3.0})
def _Base(self, x):
    if x.sum() > 0:
        return x + self.__private
    return x


@program
class Inherits(_Base):
    @staticmethod
    def small(x):
        if x.abs().max() < 1:
            return True
        return False

    @classmethod
    def build(cls, x):
        return cls.small(x)

    @property
    def offset(self):
        return 1.0

    def forward(self, x):
        if self.build(x):
            x = super().forward(x)
        else:
            x = super().forward(-x) * 2
        return x + self.offset


@program
class Keeps(nn.Module):
    def forward(self, x):
        self.last = x
        if x.sum() > 0:
            self.last = x + 1
        return self.last * 2


@program
class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.linear.register_forward_hook(self.after)

    def after(self, module, args, output):
        if output.sum() > 0:
            return output * 2
        return output

    def forward(self, x):
        return self.linear(x)


@program
class BoxLoop(nn.Module):
    """Greedy choice of boxes without an operator for it."""

    def forward(self, x):
        scores = x.sum(1)
        kept = torch.zeros_like(scores)
        remaining = scores
        n = torch.tensor(0)
        while n < 3:
            best = remaining.argmax()
            if remaining[best] < 0:
                break
            kept[best] = 1.0
            remaining = torch.where((x - x[best]).abs().sum(1) < 0.5, -1.0, remaining)
            n = n + 1
        return kept


@program
@module_with(lambda: {"step": nn.Linear(4, 4), "halt": nn.Linear(4, 1)})
def Adaptive(self, x):
    """Computation time that the data decides."""
    total = torch.zeros(x.shape[0], 1)
    result = torch.zeros_like(x)
    steps = 0
    while (total < 0.99).any() and steps < 5:
        p = torch.sigmoid(self.halt(x))
        p = torch.minimum(p, 1 - total)
        result = result + p * x
        total = total + p
        x = torch.tanh(self.step(x))
        steps = steps + 1
    return result, x + steps


@program
def size_asserted_on_one_side(x):
    first = torch.arange(3.0)
    some = x.sum() > 0
    if some:
        first = torch.cat([first, x[:, 0]])
    if some:
        z = first[3:].sum()
    else:
        assert first.shape[0] == 3
        z = first.reshape(3, 1).sum() * 2
    return first * 2, z, torch.ones(first.shape[0])


@program
def size_asserted_in_a_loop(x):
    kept = torch.arange(3.0)
    total = x.sum()
    if total > 0:
        kept = torch.cat([kept, x[:, 0]])
    while total < 0:
        assert kept.shape[0] == 3
        total = total + kept.reshape(3, 1).sum()
    return kept, total, torch.ones(kept.shape[0])


@program
def equal_sizes_computed_twice(x):
    rows = x.shape[0] * 2
    y = torch.cat([x, x])
    if x.sum() > 0:
        z = y.new_zeros(rows, 3) + y.new_ones(y.shape[0], 1) * x.shape[0] * 2
    else:
        z = y.new_ones(2 * x.shape[0], 3)
    return z + y.new_zeros(rows, 1)


def as_module(entry: Any) -> nn.Module:
    """A program as a module."""
    if isinstance(entry, type):
        torch.manual_seed(7)
        return entry().eval()

    class Program(nn.Module):
        def forward(self, x):
            return entry(x)

    return Program().eval()


def inputs(count: int = 40) -> list[Any]:
    """Matrices of other sizes and signs."""
    made = []
    for n in range(count):
        # Those of `torch.manual_seed`, without its look at every device.
        torch.default_generator.manual_seed(n)
        rows = SIZES[n % len(SIZES)]
        scale = (0.02, 0.3, 1.0, 2.0)[n // 3 % 4]
        made.append(torch.randn(rows, 4) * scale + (n % 7 - 3) * 0.25 * scale ** (n % 2))
    return made
