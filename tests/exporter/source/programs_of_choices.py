"""Programs in which a value chooses one of several functions, modules, texts or members of an enum.

They are code of users: without annotations, and not always in good style.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator

import numpy as np
import torch
from torch import nn

from tests.exporter.source.tables import Table, adding_to

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""
REFUSED: Table = {}
refused = adding_to(REFUSED)
"""Add a program that is refused, with its line."""

NAMES = ("relu", "tanh")
TABLE = {"relu": torch.relu, "tanh": torch.tanh}


class Mode(enum.Enum):
    UP = 1.5
    DOWN = -2.0


class Level(enum.IntEnum):
    LOW = 2
    HIGH = 5


class Kind(str, enum.Enum):  # noqa: UP042 - Python 3.10 has no `StrEnum`
    SUM = "sum"
    MEAN = "mean"


SCALES = np.array([0.5, 2.0, -1.0])


@program
def an_item_of_an_array(x):
    n = int((x > 0).sum()) % 3
    rounded = SCALES.astype(np.float32)
    return x * SCALES[n] + float(rounded[n - 3]) - (SCALES > 0)[n]


@refused
def a_row_of_an_array(x):
    return x * float(np.ones((3, 3))[int((x > 0).sum()) % 3, 0])


@refused
def a_new_item_of_an_array(x):
    array = np.zeros(3)
    array[int((x > 0).sum()) % 3] = 1
    return x[0] + torch.from_numpy(array)


def by_table(name, x):
    return TABLE.get(name, torch.sigmoid)(x)


@program
def a_text_of_a_list_is_looked_up_in_a_function(x):
    return by_table(("relu", "other", "tanh")[int((x > 0).sum()) % 3], x)


@program
def methods_of_a_text_of_a_list(x):
    name = ("a_one", "b_two", "")[int((x > 0).sum()) % 3]
    first, _, last = name.upper().partition("_")
    if name.startswith("a"):
        x = x + len(name)
    if last == "TWO":
        x = x * 3
    return x - 1 if name else x + len(first)


def has_ending(n, x):
    key = ("m0", "m1")[n]
    return x + 1 if key.endswith("1") and key[0] == "m" else x * 2


@program
def a_method_of_a_text_in_a_function(x):
    return has_ending(int(x.sum() > 0), x)


@program
def a_length_of_a_text_that_no_variable_has(x):
    def key(n):
        return "k" if n > 0 else "kkk"

    return len(key(x.sum())) * x


@program
def texts_inside_of_texts(x):
    name = NAMES[int(x.sum() > 0)]
    if name in "relu6":
        x = x + 1
    if "an" in name:
        x = x - 3
    both = name + "_" + ("a", "b")[int(x.max() > 1)]
    return x * {"relu_a": 2.0, "tanh_b": 5.0}.get(both, 0.5)


@program
def a_truth_as_a_number(x):
    k = int(x.sum() > 0)
    return x.softmax(k)


class State(enum.Enum):
    IDLE = 0
    RUN = 1
    STOP = 2


@dataclasses.dataclass
class Machine:
    state: State = State.IDLE
    count: int = 0


@program
def a_loop_goes_from_one_member_of_an_enum_to_another(x):
    machine, total = Machine(), x[0] * 0
    for row in x:
        if machine.state is State.IDLE:
            if row.sum() > 0:
                machine.state = State.RUN
        elif machine.state is State.RUN:
            total = total + row
            machine.count += 1
            if row.max() > 1:
                machine.state = State.STOP
        else:
            total = total * 0.5
    return total, machine.count, machine.state is State.STOP


@program
def a_loop_changes_its_function(x):
    f, y = torch.relu, x[0]
    for row in x:
        y = f(y) + row
        f = torch.tanh if y.sum() > 0 else (lambda t: t * 0.5)
    return y, f(y)


def mode_of(x):
    return Mode.UP if x.max() > 1 else Mode.DOWN


@program
def a_member_of_an_enum(x):
    mode = mode_of(x)
    y = x + 1 if mode is Mode.UP else x - 1
    if mode != Mode.DOWN:
        y = y * 2
    if mode in (Mode.DOWN, None):
        y = y - 7
    return y * mode_of(x).value + {Mode.UP: 3, Mode.DOWN: 4}[mode]


@program
def members_with_numbers_and_texts(x):
    level = Level.HIGH if x.sum() > 0 else Level.LOW
    kind = Kind.SUM if x.max() > 1 else Kind.MEAN
    y = x * level + (1 if level > 3 else 0)
    if level is Level.LOW:
        y = y - 4
    return y.sum() if kind is Kind.SUM else y.mean()


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Tanh())])

    def layer(self, x):
        return self.layers[int((x > 0).sum()) % 3]


@program
class kinds_of_a_layer(Experts):
    def forward(self, x):
        layer = self.layer(x)
        if isinstance(layer, nn.Linear):
            return layer(x) * 2
        if layer is self.layers[1]:
            return layer(x) - 5
        return layer(x)


def applied(layer, x):
    if hasattr(layer, "weight"):
        return x @ layer.weight.T
    if type(layer) is nn.Sequential:
        return layer(x) + 9
    return layer(x)


@program
class attributes_of_a_layer_in_a_function(Experts):
    def forward(self, x):
        return applied(self.layer(x), x)


@program
class a_layer_that_no_variable_has(Experts):
    def forward(self, x):
        if isinstance(self.layer(x), (nn.ReLU, nn.Sequential)):
            return x + 1
        return getattr(self.layer(x), "bias", None) - x


@program
def a_function_compared(x):
    f = torch.relu if x.sum() > 0 else torch.tanh
    g = functools.partial(f)
    if f == torch.relu or f in (torch.sigmoid, torch.exp):
        return g(x) + 5
    return g(x)


@program
def an_operator_by_name(x):
    name = NAMES[int(x.sum() > 0)]
    run = getattr(operator, {"relu": "add", "tanh": "mul"}[name])
    return run(x, 2)


@refused
def a_text_of_any_number_is_measured(x):
    return x + len(f"{int(x.sum())}")


@program
def a_layer_is_changed(x):
    f = nn.ReLU() if x.sum() > 0 else nn.Tanh()
    f.scale = 2
    return f(x) * f.scale


@program
def a_chosen_tensor_is_written_to(x):
    y, z = x + 1, x * 2
    b = y if x.sum() > 0 else z
    b.add_(1)
    return y, z, b


@program
def another_name_of_a_tensor(x):
    y = x.clone()
    b = y
    if x.sum() > 0:
        b = b * 2
    b += 1
    return y, b


@program
def a_chosen_row_is_written_to(x):
    y = x + 1
    b = y[0] if x.sum() > 0 else y[1]
    b.mul_(2)
    return y


@program
def a_tensor_that_a_function_chose_is_written_to(x):
    def larger(a, b):
        if a.sum() > b.sum():
            return a
        return b

    y, z = x + 1, -x
    larger(y, z).clamp_(min=0)
    return y + z


@program
def one_of_two_lists_takes_each_row(x):
    positive, negative, counts = [], [], [{"n": 0}, {"n": 0}]
    for row in x:
        if row.sum() > 0:
            positive.append(row)
        else:
            negative.append(row)
        if row.max() > 1:
            counts[0]["n"] += 1
        else:
            counts[1]["n"] += 1
    return (
        torch.stack(positive) if positive else x[:0],
        torch.stack(negative) if negative else x[:0],
        counts[0]["n"],
        counts[1]["n"],
    )


@refused
def one_of_two_lists_in_a_line(x):
    positive, negative = [], []
    for row in x:
        (positive if row.sum() > 0 else negative).append(row)
    return len(positive), len(negative)


@refused
def functions_from_a_place_on(x):
    for function in (torch.sin, torch.cos, torch.exp)[int(x.abs().max()) % 3 :]:
        x = function(x)
    return x


class Named:
    pass


@refused
def names_of_an_object_by_its_dict(x):
    held = Named()
    if x.sum() > 0:
        held.scale = 2
    return x * 2 if "scale" in held.__dict__ else x


@refused
def names_of_an_object_one_by_one(x):
    held, count = Named(), 0
    if x.sum() > 0:
        held.scale = 2
    for name in vars(held):
        count += name == "scale"
    return x + count


@dataclasses.dataclass
class Linked:
    value: object
    next: object = None


@refused
def an_object_that_holds_itself(x):
    a, b = Linked(x), Linked(x * 2)
    a.next, b.next = a, b
    c = a if x.sum() > 0 else b
    c.value = c.value + 1
    return a.value, c.next.value


@refused
def variables_by_locals(x):
    scale = 2
    if x.sum() > 0:
        scale = 5
    return x * locals()["scale"]


@refused
def variables_by_eval(x):
    scale = 2
    if x.sum() > 0:
        scale = 5
    return eval("x * scale")


class Priced:
    """Equal to another one of the same price, whichever names both have."""

    def __init__(self, price, name=""):
        self.price, self.name = price, name

    def __eq__(self, other):
        return isinstance(other, Priced) and self.price == other.price

    __hash__ = None


@dataclasses.dataclass
class Label:
    score: float
    name: str = "a"


@program
def chosen_objects_that_are_compared(x):
    a, b = Priced(1), Priced(2)
    c = a if x.sum() > 0 else b
    found = [a == c, c != b, [a, 1] == [c, 1], {"k": c} == {"k": b}, c in [b, Priced(3)]]
    found += [[a, a, b].count(c), [a, a, b].index(c), Priced(int(x.sum())) == Priced(2)]
    return [x[0] * 2 if one else x[0] for one in found]


@program
def parts_of_run_time_that_are_compared(x):
    n, m = int(x.sum()), x.max().item()
    label, other = Label(m, "a"), Label(m, "b" if x.sum() > 0 else "a")
    found = [label == other, label == Label(2.0), ("k", n) == ("k", 1), {"n": n} != {"n": 1}]
    found += [[n, 1] == [0, 1] == [n, int(m > 0)], (n, None) in [(1, None), (0, None)]]
    return [x[0] * 2 if one else x[0] for one in found]


class Amount:
    """Computes and compares with numbers, which may stand on its left."""

    def __init__(self, n):
        self.n = n

    def __radd__(self, other):
        return other + self.n

    def __rmul__(self, other):
        return other * self.n

    def __gt__(self, other):
        return self.n > other


@program
def chosen_objects_beside_numbers_of_run_time(x):
    c = Amount(3) if x.sum() > 0 else Amount(5)
    n, v = int((x > 0).sum()), x.max().item()
    y = x + (2 + c) + (n + c) + (v * c) + x.sum() * c
    return (y if n < c else -y) if v < c else y * 2
