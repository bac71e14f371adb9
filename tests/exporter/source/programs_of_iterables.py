"""Programs with ranges, generators and lists of numbers whose lengths are of run time."""

from __future__ import annotations

import torch

from tests.exporter.source.tables import Table, adding_to

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""


REFUSED: Table = {}
refused = adding_to(REFUSED)
"""Add one that is refused: sides and iterations that take another number of items (OW887)."""


@program
def steps_of_run_time(x):
    n = int(x.abs().max()) + 1
    total = x[0] * 0
    for i in range(0, x.shape[0], n):
        total = total * 0.5 + x[i : i + n].mean(0)
    for i in range(n, -2, -n):
        total = total + i
    return total


@program
def counted_by_a_generator(x):
    k = sum(1 for c in x.unbind(1) if c.sum() > 0)
    return x * k, next((r for r in x if r.sum() > 0), x[0] * 0)


@program
def all_and_any_of_columns(x):
    if all(c.max() > -1 for c in x.unbind(1) if c.sum() > 0):
        x = x + 1
    return x * 2 if any((r > 1).any() for r in x) else x


@program
def greatest_by_a_key(x):
    column = max(range(4), key=lambda k: x[:, k].sum())
    row = min(range(x.shape[0]), key=lambda k: x[k].sum())
    least = min((r for r in x), key=lambda r: r.abs().max())
    return x[:, column], x[row], max(x, key=lambda r: r.sum()), least


@program
def repeats(x):
    d = x.abs()[:, 0].long() + 1
    out, place = torch.zeros(int(d.sum()), dtype=torch.long), 0
    for i in range(len(d)):
        n = int(d[i])
        out[place : place + n] = i
        place += n
    return out


@program
def numbers_of_a_list(x):
    total = 0
    for n in x[:, 0].long().tolist():
        total = total * 2 + n
    for v in x[:, 1].tolist():
        if v > 0.5:
            total = total + v
    return total


@program
def parts_of_a_list_of_sizes(x):
    lengths = (x.abs()[:, 0].long() + 1).tolist()
    values = torch.arange(sum(lengths)).float()
    padded = x.new_zeros(len(lengths), max(lengths))
    for i, part in enumerate(values.split(lengths)):
        padded[i, : part.shape[0]] = part
    return padded, min(lengths), lengths[-1]


@program
def iterators_that_are_used_up(x):
    k = int((x > 0).sum())
    total, factor = x.sum() * 0, 1
    rows = [i * 2 for i in range(k)]
    pairs, generated = zip(rows, range(k)), (i * factor for i in range(k))
    factor = 3
    total = total + sum(generated) + 100 * sum(generated)
    for a, b in pairs:
        total = total * 0.5 + a * b
    for a, _ in pairs:
        total = total * 7 + a
    total = total + next(iter(rows), 5) * 3
    known = iter([1, 2, 3])
    for a in known:
        if a == 2:
            break
    return total + sum(known)


@program
def items_of_python_beside_others(x):
    k = int((x > 0).sum())
    for n, (i, function) in enumerate(zip(range(k), (torch.sin, torch.cos, torch.relu))):
        x = function(x) + i * n
        if x.sum() > 9:
            break
    for row, weight in zip(x[:, :1], [0.5, 2.0, 3.0]):
        x = x + row * weight
    return x


@program
def questions_about_a_range(x):
    k = int((x > 0).sum()) - 1
    span = range(1, k, 2)
    found = [1 < k, 2 <= k]
    if span:
        x = x + 1
    x = x + max(span, default=9) + sum(map(lambda i, j: i * j, span, range(k)), 2)
    return [x * 2 if there else x for there in found]


@refused
def an_iterator_with_state_of_its_own(x):
    class Steps:
        taken = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.taken += 1
            return float(self.taken)

    steps = Steps()
    for step in steps:
        if x.sum() > 3 or step > 4:
            break
        x = x + step
    return x * steps.taken


@refused
def iterators_that_a_side_goes_on_with(x):
    parts = iter([x.sum(), x.mean(), x.max(), x.min()])
    pairs = zip([x[0], x[0] * 2, x[0] * 4], (1, 2, 3))
    total = next(parts)
    if total > 0:
        total = total + next(parts)
        row, n = next(pairs)
        total = total + (row * n).sum()
    if x.max() > 1:
        total = total * next(parts)
    total = total - next(parts, 0)
    for row, n in pairs:
        total = total * 0.5 + row.max() * n
    return total, next(parts, -1), sum(parts)


@refused
def iterators_in_loops(x):
    steps, n = iter([1, 2, 3]), x.abs().sum()
    while n > 1:
        x = x + next(steps, 0)
        n = n * 0.5 - 1
    rows, total = iter(x), x[0] * 0
    for k in range(2):
        if total.sum() < k:
            total = total + next(rows, x[0])
    for row in rows:
        total = total * 0.5 + row
    return total, next(steps, 7)


@refused
class IteratorOfTheModule(torch.nn.Module):
    """What makes the iterator decides nothing."""

    def forward(self, x):
        self.factors = iter((2.0, 3.0, 4.0))
        for _ in range(2):
            x = self.step(x)
        return x * next(self.factors)

    def step(self, x):
        return x * next(self.factors) if x.sum() > 1 else x + 1


@program
def pairs_of_one_iterator(x):
    values = iter([x, x + 1, x * 2, x - 1])
    total = x * 0 if x.sum() > 0 else x
    for a, b in zip(values, values):
        total = total * 2 + a - 3 * b
    for a in values:
        total = total + 100 * a
    return total


@program
def functions_that_read_the_last_item(x):
    functions = [lambda v: v + n for n in range(3)]  # noqa: B023
    rows = [[lambda v: v * (n + m) for m in range(2)] for n in range(2)]  # noqa: B023
    later = list((lambda v: v - n) for n in range(3))  # noqa: B023, C400
    if x.sum() > 0:
        x = x * 2
    for function in [*functions, *rows[0], *rows[1], *later]:
        x = function(x)
    return x


@program
def functions_that_read_their_own_item(x):
    functions = [lambda v, n=n: v + n for n in range(3)]
    sums = [sum(v * n for v in (1, 2)) for n in range(3)]
    if x.sum() > 0:
        x = x * 2
    for function in functions:
        x = function(x)
    return x + sums[1]


@program
def generators_that_read_what_is_set_later(x):
    scale, added = 1, 1
    items = (n * scale for n in (1, 2, 3))
    rows = [iter(n * added for n in (1, 2)) for added in range(3)]
    scale = 5
    if x.sum() > 0:
        scale = 7
    return x + sum(items) + sum(sum(row) for row in rows)
