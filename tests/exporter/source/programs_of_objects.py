"""Programs whose sides give `None`, objects, exits and errors, as users write them.

They are code of users: without annotations, and not always in good style.
"""

# ruff: noqa: E731, PLW0603

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
from collections import namedtuple
from typing import Any, NamedTuple

import torch
from torch import nn

from tests.exporter.source.tables import Table, adding_to
from tests.harness.modules import module_with

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""


REFUSED: Table = {}
refused = adding_to(REFUSED)
"""Add a program that is refused, with its line."""


@program
def none_or_mask(x):
    mask = None if x.sum() > 0 else x > 0
    y = x + 1
    if mask is not None:
        y = y * mask
    return y


@program
def none_then_set(x):
    best = None
    if x.max() > 1:
        best = x.argmax(1)
    if best is None:
        return x
    return x + best[:, None]


@program
def none_in_a_known_loop(x):
    best = None
    for n in range(3):
        row = x * n - 1
        if row.sum() > 0 and best is None:
            best = row
    if best is None:
        best = x
    return best


@program
def none_until_found(x):
    found = None
    for row in x:
        if row.max() > 1:
            found = row
            break
    return found if found is not None else x[0] * 0


@program
def none_best_so_far(x):
    best = None
    for row in x:
        if best is None or row.sum() > best.sum():
            best = row
    return best


@program
def none_passed_on(x):
    def attend(y, mask=None):
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        return y.softmax(-1)

    mask = None
    if x.min() < -1:
        mask = x < 0
    return attend(x, mask) + attend(x)


@program
def none_returned_by_a_helper(x):
    def peak(y):
        if y.max() > 1:
            return y.max()
        return None

    p = peak(x)
    return x if p is None else x / p


@program
def none_by_falling_off(x):
    def peak(y):
        if y.max() > 1:
            return y.max()

    p = peak(x)
    if p is None:
        p = 2.0
    return x / p


@program
def none_or_number(x):
    k = None
    if x.sum() > 0:
        k = 3
    return x * (k if k is not None else 0.5)


@program
def none_as_truth(x):
    bias = None
    if x.sum() > 0:
        bias = 2.0
    if bias:
        x = x + bias
    if not bias:
        x = x * 3
    return x


@program
def none_or_default(x):
    k = None
    if x.sum() > 0:
        k = 3
    k = k or 2
    return x * k


@program
def none_compared(x):
    k = None
    if x.sum() > 0:
        k = 3
    if k == None:  # noqa: E711
        return x
    if k != None:  # noqa: E711
        x = x + k
    return x


@program
def none_or_tuple(x):
    found = None
    if x.sum() > 0:
        found = (x.max(), x.argmax())
    if found is None:
        return x, x.sum().long()
    value, place = found
    return x + value, place


@program
def none_on_both_then_one(x):
    a = b = None
    if x.sum() > 0:
        a = x + 1
    else:
        b = x - 1
    return a * 2 if a is not None else b * 3


@program
def none_three_ways(x):
    state = None
    if x.sum() > 2:
        state = x * 2
    elif x.sum() > 0:
        state = None
    else:
        state = x * 3
    y = x
    if state is not None:
        y = y + state
    return y


@program
class NoneUnlessAnIterationSetIt(nn.Module):
    """An attribute of which only the iterations of a loop know the value."""

    def step(self, x):
        if self.h is None:
            self.h = x
        else:
            self.h = self.h * 0.5 + x

    def forward(self, x):
        self.h = None
        s = x.sum()
        while s.abs() > 1:
            self.step(x)
            s = s * 0.5
        return self.h if self.h is not None else x


@program
class NoneInAnAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None
        self.lin = nn.Linear(4, 4)

    def remember(self, x):
        self.cache = None
        if x.sum() > 0:
            self.cache = self.lin(x)

    def forward(self, x):
        self.remember(x)
        y = x
        if self.cache is not None:
            y = y + self.cache
        self.cache = None
        return y


@program
def isinstance_of_what_may_be_none(x):
    y = None
    if x.sum() > 0:
        y = x * 2
    if isinstance(y, torch.Tensor):
        return y
    return x


@program
def del_on_both_sides(x):
    y = x * 2
    z = x + 1
    if x.sum() > 0:
        x = x + y
        del y
    else:
        x = x - y
        del y
    del z
    return x


@program
def del_on_one_side(x):
    tmp = x * 2
    if x.sum() > 0:
        x = x + tmp
        del tmp
    return x


@program
def del_of_an_item(x):
    parts = {"a": x, "b": x * 2, "c": x - 1}
    if x.sum() > 0:
        del parts["b"]
        parts["a"] = parts["a"] + 1
    else:
        parts["a"] = parts.pop("b")
    return parts


@program
def try_around_a_decision(x):
    try:
        if x.sum() > 0:
            y = x + 1
        else:
            y = x - 1
    except RuntimeError:
        y = x
    return y


@program
def try_returns(x):
    try:
        if x.sum() > 0:
            return x + 1
        y = x * 2
    except (ValueError, RuntimeError) as error:
        raise TypeError("no") from error
    return y


@program
def try_else_finally(x):
    steps = []
    try:
        y = x * 2
        if y.max() > 2:
            y = y / 2
    except ValueError:
        y = x
    else:
        y = y + 1
        if y.sum() > 0:
            y = y * 3
    finally:
        steps.append(1)
    return y * len(steps)


@program
def try_in_a_loop(x):
    total = x.sum() * 0
    for n in range(4):
        try:
            row = x[:, n]
            if row.sum() > 2:
                break
            if row.sum() < -2:
                continue
            total = total + row.sum()
        finally:
            total = total + 1
    return total


@program
def try_of_an_index(x):
    layers = [x, x * 2]
    try:
        y = layers[2]
    except IndexError:
        y = layers[-1]
        if y.sum() > 0:
            y = y + 1
    return y


@program
def except_returns(x):
    try:
        y = {"a": x}["b"]
    except KeyError:
        if x.sum() > 0:
            return x + 1
        return x * 2
    return y


@program
def with_blocks_that_are_left(x):
    with torch.no_grad(), contextlib.suppress(ValueError):
        if x.sum() > 0:
            return x + 1
        with contextlib.nullcontext(3) as three:
            for n in range(three):
                if x[:, n].sum() > 0:
                    return x * n
    return x - 1


@program
def nonlocal_counter(x):
    count = 0

    def note(y):
        nonlocal count
        if y.max() > 1:
            count += 1
            return y / 2
        return y

    for _ in range(3):
        x = note(x)
    return x, count


@program
def nonlocal_in_a_loop(x):
    last = None
    steps = 0

    def step(y):
        nonlocal last, steps
        steps += 1
        last = y
        return y / 2

    while x.abs().max() > 0.5:
        x = step(x)
    return x, steps


@program
def partials(x):
    def scaled(y, k, bias=0.0):
        if y.sum() > 0:
            return y * k + bias
        return y - bias

    f = functools.partial(scaled, k=2.0)
    g = functools.partial(f, bias=1.0)
    return f(x), g(x)


def _checked(function):
    @functools.wraps(function)
    def wrapper(self, x, *args, **kwargs):
        if x.max() > 1:
            x = x / x.max()
        return function(self, x, *args, **kwargs)

    return wrapper


@program
class MethodsOfAllKinds(nn.Module):
    SCALE = 3.0

    @property
    def scale(self):
        return self.SCALE

    @staticmethod
    def halve(x):
        return x / 2 if x.max() > 0.5 else x

    @classmethod
    def grown(cls, x, factor=None):
        factor = cls.SCALE if factor is None else factor
        if x.sum() > 0:
            return x * factor
        return x

    @_checked
    def inner(self, x, *, bias=1.0):
        return x + bias if x.min() < 0 else x

    def forward(self, x):
        return self.inner(self.grown(self.halve(x), factor=self.scale), bias=0.5)


class _Callable:
    limit = 1.0

    def __call__(self, x):
        if x.max() > self.limit:
            return x.clamp(max=self.limit)
        return x


@program
def callable_object(x):
    clip = _Callable()
    return clip(x) + clip(x - 1)


@program
def bounded_recursion(x):
    def reduce(y, depth):
        if depth == 0 or y.abs().max() < 0.5:
            return y, depth
        return reduce(y / 2, depth - 1)

    y, left = reduce(x, 4)
    return y, left


@program
def recursive_merge(x):
    def merged(parts):
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        a, b = merged(parts[:half]), merged(parts[half:])
        return a + b if a.sum() > b.sum() else a - b

    return merged([x, x * 2, x - 1, x + 1])


@program
def raises_on_one_side(x):
    if x.shape[0] > 100:
        raise ValueError("too large")
    if x.max() > 1e6:
        raise ValueError(f"too large: {x.max()}")
    elif x.sum() > 0:
        return x + 1
    return x


class _Mode(enum.Enum):
    UP = "up"
    DOWN = "down"


@program
def mode_chosen_by_a_side(x):
    mode = _Mode.UP
    if x.sum() < 0:
        mode = _Mode.DOWN
    if mode is _Mode.UP:
        return x + 1
    return x - 1


@program
def mode_compared(x):
    mode = _Mode.UP if x.sum() < 0 else _Mode.DOWN
    y = x * 2
    if mode == _Mode.DOWN and y.max() > 1:
        y = y / 2
    elif mode != _Mode.DOWN:
        y = y - 1
    return y


@program
def string_chosen_by_a_side(x):
    how = "mean"
    if x.sum() > 0:
        how = "sum"
    elif x.max() > 1:
        how = "max"
    if how == "sum":
        return x.sum(0)
    elif how in ("max", "min"):
        return x.amax(0)
    return x.mean(0)


@program
def string_as_a_key(x):
    how = "relu" if x.sum() > 0 else "tanh"
    return {"relu": torch.relu, "tanh": torch.tanh}[how](x)


@program
def string_matched(x):
    kind = "large" if x.max() > 1 else "small"
    match kind:
        case "large":
            return x / 2
        case "small":
            return x * 2


@program
def string_passed_on(x):
    def pooled(y, how):
        if how == "mean":
            return y.mean(1)
        return y.sum(1)

    return pooled(x, "mean" if x.sum() > 0 else "sum")


@program
def dtype_chosen_by_a_side(x):
    scale = torch.tensor(2.0) if x.sum() > 0 else 3
    return x * scale


class _Step(NamedTuple):
    value: Any
    error: Any
    done: bool


@program
def named_tuple_on_both_sides(x):
    step = _Step(x, x.sum(), False)
    if x.sum() > 0:
        step = step._replace(value=x + 1, done=True)
    else:
        step = _Step(x * 2, step.error * 2, step.done)
    if step.done:
        return step.value
    return step.value + step.error


@dataclasses.dataclass
class _Result:
    value: Any
    mask: Any = None
    notes: dict = dataclasses.field(default_factory=dict)


@program
def data_class_with_none(x):
    if x.sum() > 0:
        result = _Result(x + 1, x > 0)
    else:
        result = _Result(x * 2)
        result.notes["scaled"] = x.sum()
    y = result.value
    if result.mask is not None:
        y = y * result.mask
    return y


_Box = namedtuple("_Box", "low high")  # noqa: PYI024


@refused
def dictionaries_with_other_keys(x):
    out = {"y": x}
    if x.sum() > 0:
        out["extra"] = x + 1
    if "extra" in out:
        return out["extra"]
    return out["y"] * 2


@refused
def dictionary_get(x):
    out = {}
    if x.sum() > 0:
        out["box"] = _Box(x.min(), x.max())
    box = out.get("box")
    if box is None:
        return x
    return (x - box.low) / (box.high - box.low + 1)


@program
def sides_of_containers(x):
    if x.sum() > 0:
        out = {"a": [x, x + 1], "b": (x.sum(), {"c": 1})}
    else:
        out = {"a": [x * 2, x], "b": (x.max(), {"c": 2})}
    a, b = out["a"]
    return a + b, out["b"][0], out["b"][1]["c"]


@program
def object_of_a_class(x):
    class Holder:
        def __init__(self, value):
            self.value = value

        def get(self):
            return self.value if self.value.sum() > 0 else -self.value

    h = Holder(x)
    if x.max() > 1:
        h.value = x / 2
    return h.get()


@program
def optional_layers(x):
    layer = None
    if x.sum() > 0:
        layer = torch.relu
    if layer is not None:
        x = layer(x)
    return x + 1


@program
def none_in_a_list(x):
    parts = [None, x, None]
    if x.sum() > 0:
        parts[0] = x + 1
    total = x * 0
    for part in parts:
        if part is not None:
            total = total + part
    return total


@program
def filtered_list(x):
    parts = [x + 1 if x.sum() > 0 else None, x * 2, None if x.max() > 1 else x]
    kept = [p for p in parts if p is not None]
    return sum(kept)


@program
def state_carried_by_a_loop(x):
    previous = None
    while x.abs().max() > 0.5:
        if previous is not None:
            x = x - previous / 8
        previous = x
        x = x / 2
    return x


@program
def state_of_rows(x):
    h = None
    out = []
    for row in x:
        h = row if h is None else h * 0.5 + row
        out.append(h)
    return torch.stack(out)


@program
class CalledFunctionsChangeState(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.last = None

    def update(self, x):
        self.count += 1
        self.last = x * 2

    def forward(self, x):
        self.count, self.last = 0, x
        if x.sum() > 0:
            self.update(x)
        steps = 0
        while x.abs().max() > 0.5 and steps < 5:
            x = x / 2
            self.update(x)
            steps += 1
        for row in (x[0], x[1]):
            if row.sum() > 0:
                self.update(x)
        return self.last + self.count


def _filled(out, x):
    out["a"] = x * 2


_CALLS = 0


def _counted():
    global _CALLS
    _CALLS += 1


@program
def called_functions_change_containers_and_globals(x):
    global _CALLS
    _CALLS = 0
    out = {"a": x}
    if x.sum() > 0:
        _filled(out, x)
    if x.max() > 1:
        _counted()
    return out["a"] + _CALLS


@program
class StateThatIsNotRead(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = None

    def attend(self, x):
        self.attention = x.softmax(-1)
        return self.attention * x

    def forward(self, x):
        if x.sum() > 0:
            x = self.attend(x)
        self.attention = None
        return x


@program
def rows_of_two_kinds(x):
    positive, negative = x[x > 0], x[x <= 0]
    if len(positive) == 0 or len(negative) == 0:
        return x.new_zeros(())
    return torch.cdist(positive[:, None], negative[:, None]).min(1).values.mean()


@refused
def attributes_by_name(x):
    class Settings:
        pass

    found = Settings()
    found.scale = x
    if x.sum() > 0:
        setattr(found, "scale", x * 2)  # noqa: B010 - what is tested
    else:
        found.extra = 1
    return found.scale * (2 if hasattr(found, "extra") else 1) + getattr(found, "extra", 3)


@program
def a_context_manager_of_its_own(x):
    log = []

    @contextlib.contextmanager
    def logged():
        log.append(1)
        try:
            yield
        finally:
            log.append(2)

    with logged():
        if x.sum() > 0:
            return x * len(log)
        x = x + 1
    return x * len(log)


@program
def decisions_in_the_other_side(x):
    n = int(x.sum())
    y = x * 3 if n in [1, 2, 3] else x * 5 if n not in {0: 1, -1: 2} else x
    return y + divmod(n, 4)[1] + ~n + (1 if 0 <= n < 2 else 2 if -1 <= n <= 0 else 3)


@program
def the_largest_by_a_number(x):
    rows = [x, -x, x * 2 - 1]
    return max(rows, key=lambda r: r.sum()) - min(rows, key=lambda r: float(r.max()))


@program
@module_with(lambda: {"layers": nn.ModuleList(nn.Linear(4, 4) for _ in range(2))})
def RowsOfExperts(self, x):
    out = torch.zeros_like(x)
    chosen = (x[:, :1] > x[:, 1:2]).long()
    for n, layer in enumerate(self.layers):
        rows, _ = torch.where(chosen == n)
        if rows.numel() == 0:
            continue
        out[rows] += layer(x[rows])
    return out


@refused
class HookThatGivesNone(torch.nn.Module):
    """Where a hook gives None, PyTorch keeps what it was given."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Identity()
        self.inner.register_forward_hook(self.after)

    def after(self, module, args, result):
        if result.max() > 1:
            return result / result.max()

    def forward(self, x):
        return self.inner(x)


@refused
def any_of_a_few_that_count(x):
    counts = [0]

    def asks(row):
        counts[0] += 1
        return row.sum() > 0

    return x * 2 if any(asks(row) for row in (x[0], x[1])) else x, counts[0]


@refused
def any_of_a_generator_that_counts(x):
    """Python stops at the first row; for `sum` each is evaluated."""
    counts = {"n": 0}

    def is_large(row):
        counts["n"] += 1
        return row.sum() > 1

    found = any(is_large(row) for row in x)
    return x.sum(), counts["n"], torch.tensor(found)


@refused
def dict_that_grows_with_a_size(x):
    names = {}
    for i in range(x.shape[0]):
        names[f"k{i}"] = x[i] if x[i].sum() > 0 else -x[i]
    return torch.stack(list(names.values()))


class CountsReads:
    def __init__(self):
        self.count = 0

    def __getattr__(self, name):
        self.count += 1
        if name == "scale":
            return 2.0
        raise AttributeError(name)


@program
def attribute_that_is_asked_for_once(x):
    options = CountsReads()
    if x.sum() > 0:
        x = x * getattr(options, "scale", 1.0) + getattr(options, "shift", 1.0)
    return x + options.count


class CountsCalls:
    """Each special method is called as often as Python calls it."""

    def __init__(self):
        self.count = 0

    def _next(self, value):
        self.count = self.count * 3 + value
        return value

    def __len__(self):
        return self._next(2)

    def __iter__(self):
        self._next(1)
        return iter([1, 2])

    def __next__(self):
        return self._next(1)

    def __index__(self):
        return self._next(2)

    def __int__(self):
        return self._next(2)

    def __divmod__(self, other):
        return self._next(2), other


@program
def special_methods_that_count(x):
    n = CountsCalls()
    if x.sum() > 0:
        x = x * 2
    for _ in n:
        x = x + 1
    items = [*n, *list(n), max(n), sum(n), int(n), next(n), *range(n), *divmod(n, 3)]
    return x + n.count + sum(items) + len(list(filter(None, n)))


@program
def generator_whose_condition_writes(x):
    asked = []

    def is_odd(n):
        asked.append(n)
        return n % 2 == 1

    if x.sum() > 0:
        x = x * sum(n + len(asked) for n in (1, 2, 3) if is_odd(n))
    return x + sum(asked)
