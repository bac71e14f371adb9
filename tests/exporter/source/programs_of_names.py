"""Programs that change, in place, a tensor or an object that has several names."""

from __future__ import annotations

import functools

import torch
from torch.nn import functional

from tests.exporter.source.tables import Table, adding_to

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""
REFUSED: Table = {}
refused = adding_to(REFUSED)
"""Add a program that is refused, with its line."""
STATE: Table = {}
state = adding_to(STATE)
"""Add a module that changes its tensors, whose new values are compared."""


class Holding(torch.nn.Module):
    """A module with tensors that are buffers, and others that are not."""

    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.zeros(4))
        self.register_buffer("second", torch.ones(4))
        self.plain, self.rows = torch.zeros(4), [torch.zeros(4), torch.ones(4)]


@state
class BufferThatWasChosen(Holding):
    """Nothing reads the buffer after the write."""

    def forward(self, x):
        now = self.first if x.sum() > 0 else self.second
        now += x[0]
        return x * 2


class NamedTwice(Holding):
    """A buffer is an attribute by another name, and in a list."""

    def __init__(self):
        super().__init__()
        self.other, self.every = self.second, [self.first, self.second]


@state
class SidesThatWriteByTwoNames(NamedTwice):
    def forward(self, x):
        if x.sum() > 0:
            self.second.add_(1)
        else:
            self.other.mul_(3)
        return x + self.every[1]


@state
class SideThatWritesAndReadsByTwoNames(NamedTwice):
    def forward(self, x):
        if x.sum() > 0:
            self.every[1].add_(x[0])
            x = x * self.second + self.other
        return x * float(self.every[1].sum())


@state
class MethodOfAnotherName(NamedTwice):
    """Its name is that of a function of C; the parameter has values while PyTorch traces."""

    def __init__(self):
        super().__init__()
        self.add = functools.partial(torch.Tensor.add_, self.second)

    def forward(self, x):
        now = self.first
        if x.sum() > 0:
            self.add(2)
            now = self.second
        return x * self.second if now is self.other else x - now


@state
class LoopThatWritesAndReadsByTwoNames(NamedTwice):
    def forward(self, x):
        while x.abs().sum() < 100:
            self.second.add_(1)
            x = x * 2 + self.other
        return x


@state
class StatisticsOfOneSide(Holding):
    """The operator of a normalization in training writes; its schema does not say so."""

    def forward(self, x):
        if x.sum() > 0:
            x = functional.batch_norm(x, self.first, self.second, training=True, momentum=0.5)
        for _ in range(int(x[0, 0] > 0)):
            x = functional.batch_norm(x - 1, self.first, self.second, training=True)
        return x


@state
class AttributeThatWasChosen(Holding):
    def forward(self, x):
        if x.sum() > 0:
            self.now = self.first
        else:
            self.now = self.second
        self.now.mul_(2)
        return x * 2


@state
class RowOfABuffer(Holding):
    def forward(self, x):
        now = self.first[:2] if x.sum() > 0 else self.first[2:]
        now.copy_(x[0, :2])
        return x * 2


@state
class TensorsThatAreNotRegistered(Holding):
    """They are named on a side, or in an iteration, for the first time."""

    def forward(self, x):
        if x.sum() > 0:
            if x.max() > 1:
                self.plain[0] += 1
            y = self.plain * 2
        else:
            y = self.plain
        for r in x:
            self.rows[0] += r if r.sum() > 0 else -r
        return x * 2 + self.plain, y, self.rows[0] + self.rows[1]


@state
class BufferInALoop(Holding):
    """The first iteration changes the buffer."""

    def forward(self, x):
        now, n = self.first, x.abs().max()
        while n > 0.5:
            now += n
            now, n = now * 2, n / 2
        return now


@program
def written_on_a_side(x):
    """What a side writes under another name is read after it."""
    a, b = x[0] * 1, x[1] * 1
    if x.sum() > 0:
        now = a if x.max() > 1 else b
        now += 1
    return a, b


@program
def source_written_on_a_side(x):
    a, b, y = x[0] * 1, x[1] * 1, x[0]
    now = a if x.max() > 1 else b
    if x.sum() > 0:
        a += 1
        y = now * 2
    return y


@program
def view_chosen_in_a_side(x):
    a, now = x * 1, x[0] * 3
    if x.sum() > 0:
        if x.max() > 1:
            now = a[0]
    now += 1
    return a


@program
def a_call_that_ends_further_left(x):
    table = {"twice": 2}
    if x.sum() > 0:
        # fmt: off
        x = x + table.get(
    "twice"
)
        # fmt: on
    return x


@program
def names_swapped_in_a_loop(x):
    """Both names go on, so that no tensor and no list has two."""
    a, b, c, d = torch.zeros(4), torch.ones(4), [0, x[0]], [5, x[1]]
    for r in x:
        a += r
        c[0] += 1
        c[1] = c[1] + r
        if r.sum() > 0:
            a, b, c, d = b, a, d, c
    return a, b, c, d


@program
def last_and_best_of_a_loop(x):
    """A name of before is read, but not after a write."""
    last, now, moved = torch.zeros(4), torch.zeros(4), torch.zeros(4)
    best, score = [x[0], 0], x[0].sum()
    for i, r in enumerate(x):
        moved = moved + now - last
        candidate = [r, 0]
        candidate[1] = i
        if r.sum() > score:
            last, best, score = now, candidate, r.sum()
        now = now + r
        now += 1
    return last, now, moved, best


@program
def other_name_of_a_part(x):
    """The list in the tuple is carried as it is, under both of its names."""
    seen = [x[0] * 0]
    state = (seen, x[0])
    for r in x:
        state[0][0] = state[0][0] + r
        if r.sum() > 0:
            state = (state[0], state[1] + r)
    return state, seen


@program
def tensor_chosen_by_an_iteration(x):
    a, b = torch.zeros(4), torch.zeros(4)
    now, n = a, x.abs().max()
    while n > 0.5:
        now.add_(x[0] * n)
        if n < 1:
            now = b
        n = n / 2
    return a, b


@program
def view_chosen_by_an_iteration(x):
    a, n = torch.zeros(2, 4), x.abs().max()
    now = a[0]
    while n > 0.5:
        now += n
        now, n = a[1], n / 2
    return a


@program
def tensor_with_another_name(x):
    a, n = torch.zeros(4), x.abs().max()
    kept = a
    while n > 0.5:
        a += n
        a, n = a * 2, n / 2
    return a, kept


@program
def tensor_of_before_read_in_a_loop(x):
    last, now, moved, n = torch.zeros(4), torch.zeros(4), torch.zeros(4), x.abs().max()
    while n > 0.5:
        now += n
        moved = moved + now - last
        if n < 1:
            last = now
        n = n / 2
    return last, now, moved


@program
def tensor_written_after_a_loop(x):
    y = x[0] * 1
    before = y
    while y.abs().max() > 0.5:
        y = y / 2
    y += 1
    return y, before


@program
def list_chosen_by_an_iteration(x):
    a, b, n = [0], [0], x.abs().max()
    now = a
    while n > 0.5:
        now[0] += 1
        if n < 1:
            now = b
        n = n / 2
    return a, b, x


@program
def dict_chosen_by_an_iteration(x):
    a, b = {"n": 0, "v": x[0]}, {"n": 0, "v": x[1]}
    now, n = a, x.abs().max()
    while n > 0.5:
        now["n"] += 1
        now, n = b, n / 2
    return a, b


@refused
def list_changed_after_a_loop(x):
    candidate, best, n = [x[0], 5], [x[0], 0], x.abs().max()
    while n > 0.5:
        candidate = [x[0] * n, 0]
        if n < 1:
            best = candidate
        n = n / 2
    candidate[1] = 7
    return best


@program
def call_of_several_lines(x):
    """A call that ends in a column before the one it begins in."""
    found = {}
    found["the scale by which all the rows of the input are multiplied"] = {"n": x[0]}.get(
        "the scale that nobody has given", x[1] if x.sum() > 0 else x[0]
    )
    return x * found["the scale by which all the rows of the input are multiplied"]


@program
def names_bound_in_conditions(x):
    if 0 < (large := x.max()) < 3.5:
        x = x * large
    if x.sum() > 0 and (first := x[0].sum()) > 1 and first < 9:
        x = x + first
    if (least := x.min()) > 0 or (last := x[-1].sum()) < 0:
        return x - least
    return x + last


@program
def names_bound_in_the_condition_of_a_loop(x):
    while (total := x.sum()) < 10 and (large := x.max()) < 50:
        x = x + total.abs() + large.abs() + 1
    return x * total
