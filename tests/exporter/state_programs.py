"""Programs that keep state: what they are, where it is, and what an export makes of them.

Each makes a module, and gives what holds its state.  `outcome` is "right" (over several calls),
"output" (a further output of the model: `test_mutation.py`), "reported" (right as of the state at
export, with OW839) or a code of a refusal.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import decimal
import functools
import hashlib
import heapq
import io
import itertools
import logging
import operator
import os
import queue
import random
import struct
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tests.harness.modules import module_with

Made = tuple[Any, Callable[[], Any]]


@dataclass(frozen=True)
class Program:
    """A program.

    Fields:
        make: gives the module, and what reads its state.
        outcome: what an export makes of it.
    """

    make: Callable[[], Made]
    outcome: str


PROGRAMS: dict[str, Program] = {}
LIBRARY = types.ModuleType("library_with_state")
STATE: dict[str, Any] = {}
COUNT = 0
LAST: Any = None
HISTORY: list[Any] = []
DEEP = [[[[[0]]]]]
TUPLE: tuple[int, ...] = (0,)


def reset() -> None:
    """Give the globals of this file their first values."""
    global COUNT, LAST, TUPLE
    COUNT, LAST, TUPLE = 0, None, (0,)
    HISTORY.clear()
    STATE.clear()
    STATE["n"] = 0
    DEEP[0][0][0][0][0] = 0
    LIBRARY.count, LIBRARY.table = 0, {"n": 0}
    os.environ.pop("STATE_OF_TESTS", None)


def of_globals() -> Any:
    """What the globals of this file hold."""
    return [COUNT, LAST, list(HISTORY), dict(STATE), copy.deepcopy(DEEP), TUPLE, LIBRARY.count,
            dict(LIBRARY.table), os.environ.get("STATE_OF_TESTS")]  # fmt: skip


class Module(torch.nn.Module):  # type: ignore[misc]
    """A module that calls a function."""

    def __init__(self, function: Any, **state: Any) -> None:
        super().__init__()
        self.function = function
        for name, value in state.items():
            setattr(self, name, value)

    def forward(self, x: Any) -> Any:
        return self.function(x)


class Decides(Module):
    """A module that calls a function where the sum of its input is positive."""

    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            y = self.function(x)
        else:
            y = -x
        return y + 1


class Loops(Module):
    """A module that calls a function in a loop that a value ends."""

    def forward(self, x: Any) -> Any:
        while x.sum() < 20:
            x = self.function(x)
        return x


def program(outcome: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Add a program."""

    def add(make: Callable[[], Made]) -> Callable[[], Made]:
        PROGRAMS[make.__name__] = Program(make, outcome)
        return make

    return add


def module_program(outcome: str, parts: Any, look: Any) -> Callable[[Any], Any]:
    """Add a program: a module by its `forward`, what it holds, and what reads its state."""

    def add(forward: Any) -> Any:
        def make() -> Made:
            made = module_with(parts)(forward)()
            return made, lambda: look(made)

        make.__name__ = forward.__name__
        program(outcome)(make)
        return forward

    return add


def stateful(
    plain: str, sides: str, loop: str | None = None
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Add three programs: a function that keeps state is called, on a side, and in a loop."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        def of(kind: type[Module]) -> Callable[[], Made]:
            def made() -> Made:
                function, look = make()
                return kind(function).eval(), look

            return made

        name = make.__name__
        PROGRAMS[name] = Program(of(Module), plain)
        PROGRAMS[f"{name}_on_a_side"] = Program(of(Decides), sides)
        if loop is not None:
            PROGRAMS[f"{name}_in_a_loop"] = Program(of(Loops), loop)
        return make

    return add


def of_the_file(*outcomes: str) -> Callable[[Any], Any]:
    """Add the programs of a function that keeps state in the globals of this file."""

    def add(function: Any) -> Any:
        def make() -> Any:
            return function, of_globals

        make.__name__ = function.__name__
        return stateful(*outcomes)(make)

    return add


def keeping(kept: Callable[[], Any], *outcomes: str, look: Any) -> Callable[[Any], Any]:
    """Add the programs of a function that changes an object around it, which `look` reads."""

    def add(function: Any) -> Any:
        def make() -> Any:
            held = kept()
            return (lambda x: function(held, x)), lambda: look(held)

        make.__name__ = function.__name__
        return stateful(*outcomes)(make)

    return add


@stateful("reported", "reported", "reported")
def class_attribute() -> Any:
    class Kept:
        total = 0

    def f(x: Any) -> Any:
        Kept.total += 1
        return x + Kept.total

    return f, lambda: Kept.total


class Default:
    """Its objects have the attribute of the class until they have one of their own."""

    n = 1


def default_of_a_class(outcome: str) -> Callable[[Any], Any]:
    """Add a program of an object of a class with a default: a function of the class, it and x."""

    def add(function: Any) -> Any:
        def make() -> Made:
            kind = type("Own", (Default,), {})
            held = kind()
            return Module(lambda x: function(kind, held, x)), lambda: (kind.n, vars(held))

        make.__name__ = function.__name__
        program(outcome)(make)
        return function

    return add


@default_of_a_class("reported")
def class_or_object_on_the_sides(kind: Any, held: Any, x: Any) -> Any:
    if x.sum() > 0:
        kind.n += 4
    else:
        held.n = 10
    return x * held.n + kind.n


@default_of_a_class("reported")
def object_or_class_on_the_sides(kind: Any, held: Any, x: Any) -> Any:
    if x.sum() > 0:
        held.n = 10
    else:
        kind.n = 4
    return x * held.n + kind.n


@default_of_a_class("reported")
def object_after_the_class(kind: Any, held: Any, x: Any) -> Any:
    if x.sum() > 0:
        x = x * 2
    else:
        kind.n = 4
        held.n += 1
    return x * held.n + kind.n


@default_of_a_class("OW842")
def class_after_an_object_on_a_side(kind: Any, held: Any, x: Any) -> Any:
    if x.sum() > 0:
        held.n = 3
    kind.n = 7
    return x * held.n


@default_of_a_class("reported")
def class_or_its_base_on_the_sides(kind: Any, held: Any, x: Any) -> Any:
    base = type("Base", (Default,), {"n": 2})
    other = type("Other", (base,), {})
    if x.sum() > 0:
        other.n = 4
    else:
        base.n = 5
    kind.n = 8
    return x * other().n + base.n


@default_of_a_class("OW842")
def base_after_a_class_on_a_side(kind: Any, held: Any, x: Any) -> Any:
    lower = type("Lower", (kind,), {})
    if x.sum() > 0:
        lower.n = 4
    kind.n = 7
    return x * lower.n


@default_of_a_class("OW842")
def class_after_an_object_lost_its_own(kind: Any, held: Any, x: Any) -> Any:
    held.n = 4
    if x.sum() > 0:
        del held.n
    kind.n = 7
    return x * held.n


@default_of_a_class("OW842")
def class_and_object_in_a_loop(kind: Any, held: Any, x: Any) -> Any:
    while x.sum() < 20:
        kind.n += 1
        if x.max() > 5:
            held.n = 2
        x = x + held.n
    return x


@stateful("reported", "reported")
def class_attribute_tensor() -> Any:
    class Kept:
        total = torch.zeros(3)

    def f(x: Any) -> Any:
        Kept.total = Kept.total + x
        return Kept.total * 1.0

    return f, lambda: Kept.total


@of_the_file("reported", "reported", "reported")
def global_counter(x: Any) -> Any:
    global COUNT
    COUNT += 1
    return x + COUNT


@of_the_file("reported", "reported")
def global_tensor(x: Any) -> Any:
    global LAST
    y = x if LAST is None else x + LAST
    LAST = x * 1.0
    return y


@of_the_file("reported", "OW840")
def global_list(x: Any) -> Any:
    HISTORY.append(x * 2)
    return x + len(HISTORY)


@of_the_file("reported", "reported")
def global_dict(x: Any) -> Any:
    STATE["n"] += 1
    return x * STATE["n"]


@of_the_file("reported", "reported")
def list_five_deep(x: Any) -> Any:
    DEEP[0][0][0][0][0] += 1
    return x * DEEP[0][0][0][0][0]


@of_the_file("reported", "reported")
def global_tuple(x: Any) -> Any:
    global TUPLE
    TUPLE = (*TUPLE, 1)
    return x * len(TUPLE)


@stateful("reported", "reported", "reported")
def function_attribute() -> Any:
    def f(x: Any) -> Any:
        f.n += 1  # type: ignore[attr-defined]
        return x + f.n  # type: ignore[attr-defined]

    f.n = 0  # type: ignore[attr-defined]
    return f, lambda: f.n  # type: ignore[attr-defined]


@stateful("reported", "OW840")
def default_argument() -> Any:
    def f(x: Any, kept: Any = []) -> Any:  # noqa: B006
        kept.append(1.0)
        return x * len(kept)

    return f, lambda: list(f.__defaults__[0])  # type: ignore[index]


@stateful("reported", "reported", "reported")
def closure() -> Any:
    n = 0

    def f(x: Any) -> Any:
        nonlocal n
        n += 1
        return x + n

    return f, lambda: n


@stateful("reported", "reported")
def closure_of_a_closure() -> Any:
    n = 0

    def outer() -> Any:
        def inner(x: Any) -> Any:
            nonlocal n
            n += 2
            return x * n

        return inner

    inner = outer()
    return (lambda x: inner(x)), lambda: n


@stateful("reported", "reported")
def dataclass_fields() -> Any:
    @dataclasses.dataclass
    class State:
        n: int = 0
        last: Any = 1.0

    state = State()

    def f(x: Any) -> Any:
        state.n += 1
        y = x * state.n + state.last
        state.last = 2.0
        return y

    return f, lambda: (state.n, state.last)


@keeping(lambda: collections.deque(maxlen=3), "reported", "OW840", look=list)
def deque(kept: Any, x: Any) -> Any:
    kept.append(x)
    return torch.stack(list(kept)).sum(0)


@keeping(collections.Counter, "reported", "OW840", look=dict)
def counter(kept: Any, x: Any) -> Any:
    kept["a"] += 1
    return x * kept["a"]


@keeping(lambda: collections.defaultdict(int), "reported", "OW840", look=dict)
def default_dict(kept: Any, x: Any) -> Any:
    kept["a"] += 2
    return x * kept["a"]


@keeping(set, "reported", "OW840", look=sorted)
def set_of_numbers(kept: Any, x: Any) -> Any:
    kept.add(len(kept))
    return x + len(kept)


@keeping(lambda: itertools.count(1), "reported", "OW887", "OW887", look=repr)
def itertools_count(kept: Any, x: Any) -> Any:
    return x + next(kept)


@keeping(lambda: random.Random(0), "reported", "OW887", look=lambda kept: kept.getstate())
def random_numbers(kept: Any, x: Any) -> Any:
    return x * kept.random()


class _OfClasses(type):
    """A class of classes, with a property."""

    @property
    def count(cls) -> int:
        return cls.kept

    @count.setter
    def count(cls, value: int) -> None:
        cls.kept = value


@keeping(
    lambda: _OfClasses("Counted", (), {"kept": 0}),
    "reported",
    "reported",
    look=lambda kept: kept.kept,
)
def property_of_a_class(kept: Any, x: Any) -> Any:
    kept.count += 1
    return x * kept.count


def _totals() -> Any:
    total = 0
    while True:
        total += yield total


def _begun() -> Any:
    made = _totals()
    next(made)
    return made


@keeping(_begun, "OW898", "OW887", look=lambda kept: kept.gi_frame.f_locals["total"])
def generator_that_is_sent_values(kept: Any, x: Any) -> Any:
    return x * kept.send(1)


@keeping(lambda: itertools.cycle([1.0, 2.0, 3.0]), "reported", "OW887", look=lambda kept: None)
def itertools_cycle(kept: Any, x: Any) -> Any:
    return x * next(kept)


@stateful("OW898", "OW887")
def generator() -> Any:
    def count() -> Any:
        n = 0
        while True:
            n += 1
            yield n

    kept = count()

    def f(x: Any) -> Any:
        return x * next(kept)

    return f, lambda: kept.gi_frame.f_locals.get("n")


@keeping(hashlib.sha256, "OW898", "OW887", look=lambda kept: kept.digest())
def digest(kept: Any, x: Any) -> Any:
    kept.update(b"x")
    return x * kept.digest()[0]


@keeping(lambda: functools.lru_cache(abs), "OW898", "OW887", look=lambda kept: kept.cache_info())
def hits_of_a_cache(kept: Any, x: Any) -> Any:
    return x * kept(-3) + kept.cache_info().hits


def _decimals() -> Any:
    decimal.getcontext().prec = 28
    return decimal.getcontext()


@keeping(_decimals, "reported", "OW887", look=lambda kept: kept.prec)
def precision_of_decimals(kept: Any, x: Any) -> Any:
    kept.prec = kept.prec % 7 + 5
    return x * decimal.getcontext().prec


@keeping(lambda: np.zeros(3, np.float32), "reported", "OW887", look=lambda kept: kept.copy())
def numpy_array(kept: Any, x: Any) -> Any:
    kept[:] += 1
    return x + torch.from_numpy(kept.copy())


@of_the_file("reported", "OW887")
def environment(x: Any) -> Any:
    n = int(os.environ.get("STATE_OF_TESTS", "0")) + 1
    os.environ["STATE_OF_TESTS"] = str(n)
    return x * n


@of_the_file("reported", "reported")
def attribute_of_a_python_module(x: Any) -> Any:
    LIBRARY.count += 1
    return x * LIBRARY.count


@of_the_file("reported", "reported")
def dict_of_a_python_module(x: Any) -> Any:
    LIBRARY.table["n"] += 1
    return x * LIBRARY.table["n"]


@stateful("reported", "reported")
def decorator_that_counts() -> Any:
    def counted(f: Any) -> Any:
        @functools.wraps(f)
        def g(x: Any) -> Any:
            g.calls += 1  # type: ignore[attr-defined]
            return f(x) * g.calls  # type: ignore[attr-defined]

        g.calls = 0  # type: ignore[attr-defined]
        return g

    @counted
    def f(x: Any) -> Any:
        return x + 1

    return f, lambda: f.calls


class _Properties:
    def __init__(self) -> None:
        self.reads = self.value = 0

    @property
    def number(self) -> int:
        self.reads += 1
        return self.reads

    @number.setter
    def number(self, value: int) -> None:
        self.value = value * 2


@stateful("reported", "reported")
def property_that_counts() -> Any:
    kept = _Properties()
    return (lambda x: x * kept.number), lambda: vars(kept).copy()


@keeping(_Properties, "reported", "reported", look=lambda kept: vars(kept).copy())
def property_that_is_set(kept: Any, x: Any) -> Any:
    kept.number = kept.value + 1
    return x * kept.value


class _OwnSetattr:
    def __init__(self) -> None:
        object.__setattr__(self, "sets", 0)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, "sets", self.sets + 1)
        object.__setattr__(self, name, value)


@keeping(_OwnSetattr, "reported", "reported", look=lambda kept: vars(kept).copy())
def own_setattr(kept: Any, x: Any) -> Any:
    kept.last = 1
    return x * kept.sets


def _counted(self: Any, name: str, value: Any) -> None:
    object.__setattr__(self, "sets", self.sets + 1)
    object.__setattr__(self, name, value)


class _SetattrByAnotherName:
    def __init__(self) -> None:
        object.__setattr__(self, "sets", 0)

    __setattr__ = _counted


@keeping(_SetattrByAnotherName, "reported", "reported", look=lambda kept: vars(kept).copy())
def setattr_by_another_name(kept: Any, x: Any) -> Any:
    kept.last = 1
    setattr(kept, "first", 2)  # noqa: B010 - what a program may do
    return x * kept.sets


class _Slots:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


@keeping(_Slots, "reported", "reported", "reported", look=lambda kept: kept.n)
def slots(kept: Any, x: Any) -> Any:
    kept.n += 1
    return x + kept.n


class _Depth:
    def __init__(self) -> None:
        self.entered = 0

    def __enter__(self) -> Any:
        self.entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        self.entered += 1


@keeping(_Depth, "reported", "reported", look=lambda kept: kept.entered)
def context_manager(kept: Any, x: Any) -> Any:
    with kept as inside:
        return x * inside.entered


@stateful("reported", "reported")
def context_manager_of_a_generator() -> Any:
    @contextlib.contextmanager
    def counted() -> Any:
        STATE["n"] += 1
        yield STATE["n"]
        STATE["n"] += 1

    def f(x: Any) -> Any:
        with counted() as n:
            return x * n

    return f, of_globals


class _Registry:
    items: list[int] = []  # noqa: RUF012

    def __init__(self, n: int) -> None:
        self.n = n
        _Registry.items.append(n)


@stateful("reported", "OW840")
def class_level_registry() -> Any:
    _Registry.items.clear()

    def f(x: Any) -> Any:
        one = _Registry(len(_Registry.items))
        return x * len(_Registry.items) + one.n

    return f, lambda: list(_Registry.items)


class _Items:
    def __init__(self) -> None:
        self.held = {"n": 0}

    def __getitem__(self, name: str) -> int:
        self.held["reads"] = self.held.get("reads", 0) + 1
        return self.held[name]

    def __setitem__(self, name: str, value: int) -> None:
        self.held[name] = value


@keeping(_Items, "reported", "OW840", look=lambda kept: dict(kept.held))
def own_items(kept: Any, x: Any) -> Any:
    kept["n"] = kept["n"] + 1
    return x * kept["n"]


@keeping(collections.UserDict, "reported", "OW840", look=lambda kept: dict(kept.data))
def user_dict(kept: Any, x: Any) -> Any:
    kept["n"] = kept.get("n", 0) + 1
    return x * kept["n"]


@keeping(lambda: [5], "reported", "OW840", look=list)
def heap(kept: Any, x: Any) -> Any:
    heapq.heappush(kept, 3)
    return x * kept[0] + len(kept)


@keeping(lambda: {"n": 0}, "reported", "reported", look=dict)
def function_of_operator(kept: Any, x: Any) -> Any:
    operator.setitem(kept, "n", kept["n"] + 1)
    return x * kept["n"]


@keeping(
    lambda: types.SimpleNamespace(n0=0), "reported", "reported", look=lambda kept: vars(kept).copy()
)
def setattr_by_name(kept: Any, x: Any) -> Any:
    name = "n" + str(0)
    setattr(kept, name, getattr(kept, name) + 1)
    return x * getattr(kept, name)


@keeping(
    lambda: types.SimpleNamespace(n=0), "reported", "reported", look=lambda kept: vars(kept).copy()
)
def dict_of_an_object(kept: Any, x: Any) -> Any:
    vars(kept)["n"] = kept.n + 1
    kept.__dict__.update(n=kept.n + 1)
    return x * kept.n


@stateful("reported", "reported")
def two_names_of_one_list() -> Any:
    one = [0.0]
    held = {"list": one}

    def f(x: Any) -> Any:
        held["list"][0] += 1
        return x * one[0]

    return f, lambda: (list(one), held["list"] is one)


@stateful("reported", "reported")
def partial_of_a_function() -> Any:
    kept = [0.0]

    def add(held: Any, x: Any) -> Any:
        held[0] += 1
        return x * held[0]

    return functools.partial(add, kept), lambda: list(kept)


@stateful("reported", "reported")
def callable_object() -> Any:
    class Adds:
        def __init__(self) -> None:
            self.n = 0

        def __call__(self, x: Any) -> Any:
            self.n += 1
            return x * self.n

    kept = Adds()
    return kept, lambda: kept.n


@stateful("reported", "reported")
def mapped_function() -> Any:
    kept = [0.0]

    def add(x: Any) -> Any:
        kept[0] += 1
        return x * kept[0]

    return (lambda x: sum(map(add, [x, x]))), lambda: list(kept)


@keeping(lambda: [0.0], "reported", "reported", look=list)
def augmented_list(kept: Any, x: Any) -> Any:
    held = kept
    held[0] = held[0] + 1.0
    return x * kept[0]


@stateful("reported", "OW874")
def function_without_source() -> Any:
    names: dict[str, Any] = {"N": 0}
    exec("def f(x):\n    global N\n    N += 1\n    return x * N", names)
    return names["f"], lambda: names["N"]


@program("reported")
def list_of_the_module() -> Made:
    class Kept(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen, self.cache = [torch.ones(3)], {}

        def forward(self, x: Any) -> Any:
            self.seen.append(x)
            return x * len(self.seen)

    made = Kept()
    cache = made.cache
    return made, lambda: (list(made.seen), made.cache is cache)


@module_program(
    "output", lambda: {"sum": torch.nn.Buffer(torch.zeros(()))}, lambda held: float(held.sum)
)
def buffer_replaced_on_a_side_and_written_to(self: Any, x: Any) -> Any:
    if x.sum() > 0:
        self.sum = self.sum * 0.5 + 1
    self.sum.add_(x[0])
    return x * self.sum


@module_program(
    "output", lambda: {"n": torch.nn.Buffer(torch.zeros(()))}, lambda held: held.n.clone()
)
def buffer(self: Any, x: Any) -> Any:
    self.n = self.n + 1
    return x * self.n


@module_program(
    "reported",
    lambda: {"one": torch.nn.Buffer(torch.zeros(3)), "two": torch.nn.Buffer(torch.ones(3))},
    lambda held: (held.one.clone(), held.two.clone()),
)
def buffers_that_get_one_tensor(self: Any, x: Any) -> Any:
    """The next call adds to both."""
    self.one.add_(1)
    self.one = self.two = x + self.two
    return x * self.two


class _Table(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(2), persistent=False)


@module_program("reported", lambda: {"table": _Table()}, lambda held: held.table.rows.clone())
def buffer_that_is_a_cache_and_grows(self: Any, x: Any) -> Any:
    """As tables of positions: a buffer that is not saved is no state of the model."""
    if len(self.table.rows) < len(x):
        self.table.rows = torch.arange(5.0)
    return x * self.table.rows[:3]


@module_program(
    "OW902", lambda: {"n": torch.nn.Buffer(torch.zeros(3))}, lambda held: held.n.clone()
)
def memory_of_a_buffer_set(self: Any, x: Any) -> Any:
    self.n.data = self.n.data + x
    return x * self.n


@module_program(
    "output",
    lambda: {
        "shift": torch.nn.Parameter(torch.zeros(3)),
        "ready": torch.nn.Buffer(torch.zeros(())),
    },
    lambda held: (held.shift.detach().clone(), held.ready.clone()),
)
def parameter_set_by_the_first_call(self: Any, x: Any) -> Any:
    if self.ready.item() == 0:
        self.shift.data.copy_(-x)
        self.ready.fill_(1)
    return x + self.shift


@module_program(
    "output",
    lambda: {"scale": torch.nn.Parameter(torch.ones(3))},
    lambda held: held.scale.detach().clone(),
)
def parameter_changed_in_a_loop(self: Any, x: Any) -> Any:
    for _ in range(int(x.abs().sum()) % 3):
        with torch.no_grad():
            self.scale.mul_(2)
    return x * self.scale


@module_program("reported", lambda: {"cache": {}}, lambda held: dict(held.cache))
def cached_by_the_module(self: Any, x: Any) -> Any:
    if "k" not in self.cache:
        self.cache["k"] = x * 2
    return x + self.cache["k"]


@program("right")
def cached_function_of_sizes() -> Made:
    calls: list[int] = []

    @functools.lru_cache
    def table(n: int) -> Any:
        return torch.arange(n).float()

    return Module(lambda x: x + table(x.shape[0])), lambda: (table.cache_info(), list(calls))


@program("reported")
def result_of_a_cached_function() -> Made:
    @functools.lru_cache
    def table(n: int) -> Any:
        return torch.arange(n).float()

    def f(x: Any) -> Any:
        scale = table(3)
        scale += 1
        return x * table(3)

    return Module(f), table.cache_info


@program("OW840")
def object_chosen_by_a_value() -> Made:
    one, other = [0.0], [0.0]

    def f(x: Any) -> Any:
        held = one if x.sum() > 0 else other
        held.append(1.0)
        return x * len(one)

    return Module(f), lambda: (list(one), list(other))


@module_program("OW840", dict, lambda held: {k: v for k, v in vars(held).items() if k == "scale"})
def attribute_that_one_side_sets(self: Any, x: Any) -> Any:
    if x.sum() > 0:
        self.scale = 2
    return x * getattr(self, "scale", 7)


@program("right")
def variable_of_the_call() -> Made:
    def f(x: Any) -> Any:
        held, count = {"x": x}, 0

        def grow() -> None:
            nonlocal count
            held["x"] = held["x"] * 2
            count += 1

        while held["x"].sum() < 20 and count < 9:
            grow()
        return held["x"] + count

    return Module(f), lambda: None


@program("reported")
def variable_of_an_earlier_call() -> Made:
    """The function that makes the counter runs once before, and in each call."""
    kept: list[Any] = []

    def make() -> Any:
        n = 0

        def count() -> int:
            nonlocal n
            n += 1
            return n

        return count

    kept.append(make())
    return Module(lambda x: x * kept[0]() + make()()), lambda: None


@keeping(lambda: np.zeros((2, 3), np.float32), "reported", "OW887", look=lambda kept: kept.copy())
def view_of_an_array(kept: Any, x: Any) -> Any:
    row = kept[0]
    row += 1
    return x + torch.from_numpy(kept.copy())[0]


@module_program(
    "reported", lambda: {"kept": np.zeros(3, np.float32)}, lambda held: held.kept.copy()
)
def array_attribute_changed_in_place(self: Any, x: Any) -> Any:
    self.kept += 1
    return x * float(self.kept.sum())


@keeping(lambda: [[[]]], "reported", "OW840", look=copy.deepcopy)
def list_in_a_list_that_grows_by_its_operator(kept: Any, x: Any) -> Any:
    kept[0][0] += [1]
    return x * len(kept[0][0])


@of_the_file("reported", "reported")
def variable_of_the_file_by_globals(x: Any) -> Any:
    globals()["COUNT"] += 1
    return x * COUNT


@stateful("reported", "OW887")
def class_of_an_object() -> Any:
    class One:
        n = 1

    class Two(One):
        n = 2

    kept = One()

    def f(x: Any) -> Any:
        kept.__class__ = Two
        return x * kept.n

    return f, lambda: type(kept).__name__


@stateful("reported", "OW887")
def defaults_of_a_function() -> Any:
    def scaled(x: Any, n: int = 1) -> Any:
        return x * n

    def f(x: Any) -> Any:
        scaled.__defaults__ = (scaled.__defaults__[0] + 1,)  # type: ignore[index]
        return scaled(x)

    return f, lambda: scaled.__defaults__


@program("OW840")
def registered_by_a_decorator_on_a_side() -> Made:
    kept: dict[str, Any] = {"a": lambda x: x + 1}

    def register(name: str) -> Any:
        def add(f: Any) -> Any:
            kept[name] = f
            return f

        return add

    def f(x: Any) -> Any:
        if x.sum() > 0:

            @register("b")
            def triple(x: Any) -> Any:
                return x * 3

        return kept.get("b", kept["a"])(x)

    return Module(f), lambda: list(kept)


class Counting:
    """An object whose operators and special methods count."""

    made = 0

    def __init__(self) -> None:
        self.n = 0

    def __new__(cls) -> Any:
        Counting.made += 1
        return super().__new__(cls)

    def __add__(self, other: Any) -> Any:
        self.n += 1
        return self.n + other

    def __iadd__(self, other: Any) -> Any:
        self.n += 2
        return self

    def __len__(self) -> int:
        self.n += 3
        return 1

    def __contains__(self, item: Any) -> bool:
        self.n += 4
        return True

    def __str__(self) -> str:
        self.n += 5
        return "n"


@program("OW843")
def buffer_assigned_beside_another_name() -> Made:
    def forward(self: Any, x: Any) -> Any:
        self.total = self.total + 1
        return x + self.total + self.every[0]

    total = torch.nn.Buffer(torch.zeros(3))
    made = module_with(lambda: {"total": total, "every": [total]})(forward)()
    return made, lambda: (made.total.clone(), total.clone())


@program("OW842")
def parts_that_change_places() -> Made:
    def forward(self: Any, x: Any) -> Any:
        if x.sum() > 0:
            self.one, self.two = self.two, self.one
        return self.one(x)

    made = module_with(lambda: {"one": torch.nn.ReLU(), "two": torch.nn.Tanh()})(forward)()
    return made, lambda: [type(part).__name__ for part in made.children()]


@program("OW887")
def operator_of_a_chosen_object() -> Made:
    one, two = Counting(), Counting()
    return Module(lambda x: x * ((one if x.sum() > 0 else two) + 1)), lambda: (one.n, two.n)


@program("reported")
def property_of_a_chosen_object() -> Made:
    class Read:
        def __init__(self) -> None:
            self.reads = 0

        @property
        def size(self) -> int:
            self.reads += 1
            return 3

    one, two = Read(), Read()

    def f(x: Any) -> Any:
        found = one if x.sum() > 0 else two
        return x * found.size + one.reads * 10 + two.reads

    return Module(f), lambda: (one.reads, two.reads)


@program("OW887")
def truth_of_a_chosen_object() -> Made:
    one, two = Counting(), Counting()
    return (
        Module(lambda x: x * 2 if (one if x.sum() > 0 else two) else x),
        lambda: (one.n, two.n),
    )


@program("OW887")
def length_of_a_chosen_object() -> Made:
    one, two = Counting(), Counting()
    return Module(lambda x: x * len(one if x.sum() > 0 else two)), lambda: (one.n, two.n)


def _special(name: str, use: Callable[[Any], Any], sides: str = "OW887") -> None:
    def make() -> Any:
        kept = Counting()

        def f(x: Any) -> Any:
            use(kept)
            return x * kept.n

        return f, lambda: kept.n

    make.__name__ = f"special_method_{name}"
    stateful("reported", sides)(make)


_special("add", lambda kept: kept + 1)
_special("iadd", lambda kept: operator.iadd(kept, 1), "OW874")
_special("len", len)
_special("contains", lambda kept: 1 in kept)
_special("str", lambda kept: f"{kept}")


@stateful("reported", "OW887")
def new_that_counts() -> Any:
    def f(x: Any) -> Any:
        Counting()
        return x * Counting.made

    Counting.made = 0
    return f, lambda: Counting.made


@keeping(io.StringIO, "reported", "OW887", look=lambda kept: kept.getvalue())
def text_buffer(kept: Any, x: Any) -> Any:
    kept.write("ab")
    return x * len(kept.getvalue())


@keeping(queue.Queue, "reported", "OW840", look=lambda kept: kept.qsize())
def queue_of_python(kept: Any, x: Any) -> Any:
    kept.put(1)
    return x * kept.qsize()


@keeping(lambda: {"n": 0}, "reported", "OW887", look=lambda kept: kept["n"])
def text_that_is_run(kept: Any, x: Any) -> Any:
    exec("n += 1", kept)  # noqa: S102 - a program may do so
    return x * kept["n"]


@program("reported")
def function_that_a_library_calls() -> Made:
    kept = [0]

    def count(x: Any) -> Any:
        kept[0] += 1
        return x * 2

    return Module(lambda x: torch.vmap(count)(x) * kept[0]), lambda: kept[0]


@keeping(lambda: np.zeros(3, np.float32), "reported", "OW887", look=lambda kept: kept.copy())
def array_that_a_function_of_numpy_fills(kept: Any, x: Any) -> Any:
    np.add.at(kept, [0, 0, 1], 1)
    return x + float(kept.sum())


@module_program(
    "OW887", lambda: {"inner": torch.nn.Identity()}, lambda held: len(held.inner._forward_hooks)
)
def hook_that_a_side_registers(self: Any, x: Any) -> Any:
    if x.sum() > 0:
        self.inner.register_forward_hook(lambda module, args, result: result * 2)
    return self.inner(x)


@module_program(
    "OW887",
    lambda: {"layers": torch.nn.Sequential(torch.nn.Identity())},
    lambda held: len(held.layers),
)
def layer_that_a_side_adds(self: Any, x: Any) -> Any:
    if x.sum() > 0:
        self.layers.append(torch.nn.ReLU())
    return self.layers(x) * len(self.layers)


@program("reported")
def attribute_that_only_pytorch_reads() -> Made:
    layer = torch.nn.LeakyReLU(0.5)

    def forward(_: Any, x: Any) -> Any:
        y = layer(x)
        layer.negative_slope = 0.25
        return y

    return module_with(lambda: {"layer": layer})(forward)(), lambda: layer.negative_slope


@program("reported")
def function_of_pytorch_that_only_pytorch_calls() -> Made:
    def forward(_: Any, x: Any) -> Any:
        y = torch.nn.functional.leaky_relu(x)
        torch.nn.functional.other_relu = torch.tanh
        return y

    return module_with(dict)(forward)(), lambda: hasattr(torch.nn.functional, "other_relu")


@program("reported")
def mode_of_a_layer_after_its_call() -> Made:
    layer = torch.nn.BatchNorm1d(3).eval()

    def forward(_: Any, x: Any) -> Any:
        y = layer(x[None].expand(2, 3))[0]
        layer.train()
        return y

    return module_with(lambda: {"layer": layer})(forward)().eval(), lambda: layer.training


@program("reported")
def mode_of_a_layer_that_a_side_sets() -> Made:
    class Kept(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Identity()

        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                self.layer.train()
            else:
                self.layer.eval()
            return x * 2 if self.layer.training else x

    made = Kept().eval()
    return made, lambda: made.layer.training


@stateful("reported", "OW887")
def context_variable() -> Any:
    kept = contextvars.ContextVar("kept", default=1)

    def f(x: Any) -> Any:
        kept.set(kept.get() + 1)
        return x * kept.get()

    return f, kept.get


@stateful("reported", "OW840")
def order_of_a_dict() -> Any:
    kept = collections.OrderedDict(a=1.0, b=2.0)

    def f(x: Any) -> Any:
        kept.move_to_end(next(iter(kept)))
        return x * next(iter(kept.values()))

    return f, lambda: list(kept)


@stateful("reported", "OW887")
def cycle_of_before() -> Any:
    items = itertools.cycle([1.0, 2.0, 3.0])
    return (lambda x: x * next(items)), lambda: next(copy.deepcopy(items))


@stateful("reported", "OW887")
def chain_of_before() -> Any:
    items = itertools.chain([1.0, 2.0], [3.0] * 9)
    return (lambda x: x * next(items)), lambda: next(copy.deepcopy(items))


@stateful("reported", "OW887")
def generator_of_numpy() -> Any:
    generator = np.random.default_rng(0)
    return (lambda x: x + generator.random()), lambda: str(generator.bit_generator.state)


@stateful("reported", "OW887")
def old_generator_of_numpy() -> Any:
    generator = np.random.RandomState(0)
    return (lambda x: x + generator.rand()), lambda: str(generator.get_state())


@stateful("reported", "OW887")
def file_that_is_read() -> Any:
    kept = io.TextIOWrapper(io.BytesIO(b"".join(b"%d\n" % n for n in range(1, 99))))
    return (lambda x: x * int(kept.readline())), kept.tell


class Lazy:
    """Its attributes are made when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = len(self.__dict__) + 1.0
        setattr(self, name, value)
        return value


@program("OW840")
def attribute_that_a_side_asks_for_first() -> Made:
    kept = Lazy()

    class Asks(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                x = x * kept.a
            return x + kept.b

    return Asks(), lambda: dict(vars(kept))


def _asked(ask: Callable[[Any], Any]) -> Callable[[], Made]:
    """What asks whether an object has an attribute that one side alone sets or deletes."""

    def make() -> Made:
        kept = types.SimpleNamespace(a=1.0)

        class Asks(torch.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                own = types.SimpleNamespace(a=kept.a)
                if x.sum() > 0:
                    own.b = 3.0
                return x * ask(own)

        return Asks(), lambda: dict(vars(kept))

    return make


def _caught(own: Any) -> float:
    try:
        return own.b * 2.0  # type: ignore[no-any-return]
    except AttributeError:
        return 1.0


for _name, _ask in {
    "number_of_attributes": lambda own: len(vars(own)),
    "names_of_attributes": lambda own: float("b" in dir(own)),
    "attributes_as_a_dict": lambda own: sum(own.__dict__.values()),
    "copy_of_an_object": lambda own: getattr(copy.copy(own), "b", 7.0),
    "deep_copy_in_a_list": lambda own: getattr(copy.deepcopy([own])[0], "b", 7.0),
    "attribute_error": _caught,
}.items():
    PROGRAMS[f"{_name}_of_one_side"] = Program(_asked(_ask), "OW840")


@program("right")
def iterator_of_the_call() -> Made:
    class Takes(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * next(struct.iter_unpack("b", b"ab"))[0]

    return Takes(), lambda: None


@program("OW898")
def iterator_that_cannot_be_copied() -> Made:
    items = struct.iter_unpack("b", bytes(range(1, 99)))

    class Takes(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * next(items)[0]

    return Takes(), lambda: operator.length_hint(items)


class Doubling:
    """An attribute of which twice the value is kept, where its object says."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.kept = f"_{name}"

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return getattr(owner, self.kept, 0)

    def __set__(self, owner: Any, value: int) -> None:
        setattr(owner, self.kept, value * 2)

    def __delete__(self, owner: Any) -> None:
        setattr(owner, self.kept, getattr(owner, self.kept, 0) + 5)


class Special:
    """An object whose attributes are set and deleted by functions."""

    sets = 0
    number = Doubling()

    def __setattr__(self, name: str, value: Any) -> None:
        Special.sets += 1
        super().__setattr__(name, value)

    @property
    def size(self) -> int:
        return getattr(self, "_size", 0)

    @size.setter
    def size(self, value: int) -> None:
        self._size = value * 3

    @size.deleter
    def size(self) -> None:
        self._size = 7


def _special() -> Any:
    Special.sets = 0
    return Special()


def _delete(own: Any, name: str) -> int:
    delattr(own, name)
    return len(name)


class _Pair(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int),)


def _with(owner: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(owner, name, value)
    return owner


def _next_number(owner: Any) -> int:
    owner.number += 1
    return int(owner.number)


def _sized(own: Special) -> int:
    own.size = 2
    return own.size + own.sets


def _raised(logger: logging.Logger) -> int:
    logger.setLevel(logger.level + 1)
    return logger.level


@functools.cache
def _table(number: int) -> dict[str, int]:
    table = {}
    table["number"] = number
    return table


def _next_of_table() -> int:
    _table(0)["number"] += 1
    return _table(0)["number"]


def _relus(held: Any) -> list[str]:
    return [*held.parts._modules]


def _hooks(held: Any) -> int:
    return len(held.part._forward_hooks)


def _two_relus() -> dict[str, Any]:
    return {"parts": torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.ReLU()])}


@module_program("reported", _two_relus, _relus)
def part_appended(self: Any, x: Any) -> Any:
    self.parts.append(torch.nn.ReLU())
    return x * len(self.parts)


@module_program("reported", _two_relus, _relus)
def parts_added(self: Any, x: Any) -> Any:
    self.parts += [torch.nn.ReLU()]
    return x * len(self.parts)


@module_program(
    "reported", lambda: {"parts": torch.nn.ModuleList(torch.nn.ReLU() for _ in range(9))}, _relus
)
def part_deleted(self: Any, x: Any) -> Any:
    del self.parts[0]
    return x * len(self.parts)


@module_program("reported", lambda: {"part": torch.nn.Identity()}, _hooks)
def hook_added(self: Any, x: Any) -> Any:
    y = self.part(x)
    self.part.register_forward_hook(lambda module, args, result: result + 1)
    return y


def _counting_tensor() -> Any:
    made = torch.ones(3)
    made.number = 0
    return made


@keeping(_counting_tensor, "reported", "reported", look=lambda kept: kept.number)
def attribute_of_a_tensor(kept: Any, x: Any) -> Any:
    kept.number += 1
    return x * kept + kept.number


@keeping(lambda: np.zeros(3, np.float32), "reported", "OW887", look=lambda kept: kept.copy())
def array_whose_memory_a_tensor_has(kept: Any, x: Any) -> Any:
    kept += 1
    return x + torch.from_numpy(kept)


# What makes the owner of a state, changes and reads it, and gives it.
_OWNERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "descriptor": (_special, _next_number, vars),
    "setattr_and_property": (_special, _sized, lambda own: (dict(vars(own)), Special.sets)),
    "deleter": (_special, lambda own: _delete(own, "size") + own.size, vars),
    "deleting_descriptor": (_special, lambda own: _delete(own, "number") + own.number, vars),
    "field_of_c": (lambda: _Pair(0), _next_number, lambda own: own.number),
    "thread": (lambda: _with(threading.current_thread(), number=0) and None,
               lambda _: _next_number(threading.current_thread()),
               lambda _: threading.current_thread().number),
    "logger": (lambda: _with(logging.getLogger("of.tests"), number=0) and None,
               lambda _: _next_number(logging.getLogger("of.tests")),
               lambda _: logging.getLogger("of.tests").number),
    "level_of_logger": (lambda: _with(logging.getLogger("of.tests"), level=0) and None,
                        lambda _: _raised(logging.getLogger("of.tests")),
                        lambda _: logging.getLogger("of.tests").level),
    "cached_value": (lambda: _table.cache_clear(), lambda _: _next_of_table(), lambda _: _table(0)),
    "event": (threading.Event, lambda own: (own.is_set(), own.set())[0] + 1,
              threading.Event.is_set),
}  # fmt: skip


def _of_owner(kind: type, name: str) -> Callable[[], Made]:
    start, use, look = _OWNERS[name]

    def make() -> Made:
        own = start()
        return kind(lambda x: x * use(own)), lambda: copy.copy(look(own))

    return make


for _name in _OWNERS:
    PROGRAMS[_name] = Program(_of_owner(Module, _name), "reported")
    _outcome = "OW842" if _name == "field_of_c" else "reported"  # it takes numbers of Python only
    PROGRAMS[f"{_name}_on_one_side"] = Program(_of_owner(Decides, _name), _outcome)
