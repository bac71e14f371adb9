"""Programs that change objects on a side of a decision, or in what Python may not evaluate."""

from __future__ import annotations

import collections
import types

import torch

from tests.exporter.source.tables import Table, adding_to

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""
REFUSED: Table = {}
refused = adding_to(REFUSED)
"""Add a program that is refused, with its line."""


class Counting(torch.nn.Module):
    """A module whose methods count their calls."""

    def asks(self, x):
        self.count += 1
        return x.max() > 1

    def changed(self, x):
        self.count += 1
        self.last = x * 0.5
        return x


@program
class ListAndCall(Counting):
    """What the call changes is found only when the side has run once."""

    def forward(self, x):
        self.count, self.last, counts = 0, x, [0, 0]
        if x.max() > 0:
            counts[0] = 1
            x = self.changed(x)
        return x, counts, self.count, self.last


@program
class LeftLoop(Counting):
    """A loop that cannot be one of the graph, as it is found in the middle of an iteration."""

    def forward(self, x):
        self.count = 0
        steps = {(n, 0): n * 0.5 for n in range(9)}
        for n in range(9):
            x = self.changed(x)
            x = x + steps[n, 0]
            if x.sum() > 20:
                break
        return x, self.count


@program
class ShortCircuits(Counting):
    """What stands after `and`, `or` and `<` is evaluated for some values only."""

    def forward(self, x):
        self.count = 0
        if x.sum() > 0 and self.asks(x[0]):
            x = x * 2
        if self.asks(x[0]) or self.asks(x[1]):
            x = x + 1
        if 0 < x.sum() < self.changed(x).max() * 3:
            x = x - 1
        return x, self.count


class Slotted:
    __slots__ = ("value",)


@program
def other_containers(x):
    def fill(kept, spaced):
        kept.value = 2
        spaced.value = 3

    counts, order = collections.Counter(a=1), collections.OrderedDict(a=1)
    sums, recent = collections.defaultdict(int), collections.deque([1, 2], maxlen=2)
    kept, spaced = Slotted(), types.SimpleNamespace(value=0)
    kept.value = sums["a"] = 0
    if x.sum() > 0:
        counts["a"] += 1
        order["a"] = 3
        sums["a"] += 1
        recent.append(5)
        fill(kept, spaced)
    return x, counts["a"], order["a"], sums["a"], recent[0], recent[1], kept.value, spaced.value


@program
def chosen_list(x):
    a, b = [1], [2]
    c = a if x.sum() > 0 else b
    c.append(3)
    return x, len(a)


@program
def chosen_dict(x):
    a, b = {"v": x}, {"v": x * 2}
    c = a if x.sum() > 0 else b
    c["v"] = x + 5
    return a["v"]


@program
def changed_where_chosen_from(x):
    now, best = [x[0], x[1]], [x[0], x[0]]
    if x.sum() > 0:
        best = now
    now[0] = x[0] * 5
    return best[0]


@refused
def generator_in_a_loop(x):
    steps, n = (k for k in [1, 2, 3]), 0
    while x.sum() < 2 and n < 3:
        n = next(steps)
        x = x + n
    return x, n


@refused
def buffer_on_a_side(x):
    found = bytearray(b"a")
    if x.sum() > 0:
        found.append(1)
    return x, len(found)


@program
class NumberOfTwoNames(Counting):
    """A number is never changed in place, in functions that do not decide either."""

    def forward(self, x):
        self.count, table = 1, {"n": 1}
        if x.sum() > 0:
            self.count, table = 3, {"n": 2}
        before, after = self.count, self.count * 2
        other = after
        after -= 1
        self.changed(x)
        return x, before, self.count, other, after, table["n"]
