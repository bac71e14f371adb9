"""Programs with lists, sets and rows of numbers that are known at run time only."""

from __future__ import annotations

import functools
import math

import torch

from tests.exporter.source.tables import Table, adding_to

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""
REFUSED: Table = {}
refused = adding_to(REFUSED)
"""Add a program that is refused, with its line."""


@program
def searched_list(x):
    values = (x[0] * 4).long().tolist()
    found = 0
    if 3 in values:
        found += 1
    if any(v > 2 for v in values) and values[0] not in (0, 1):
        found += 2
    if values == sorted(values):
        found += 4
    first = values.index(max(values))
    return found, first, x[0, first], values.count(values[0]), 2 in values


@program
def sorted_list(x):
    values, weights = (x[0] * 4).long().tolist(), x[1].tolist()
    low, high = sorted(values), sorted(values, reverse=True)
    order = sorted(range(len(weights)), key=lambda n: weights[n], reverse=True)
    best = max(range(len(weights)), key=lambda n: weights[n])
    by_weight = sorted(values, key=lambda v: -v)
    weights.sort()
    return low[0], high[1], order[0], order[-1], best, by_weight[0], weights, x[0, order[0]]


@program
def filtered_list(x):
    values = (x[0] * 4).long().tolist()
    even = [v % 3 for v in values if v % 2 == 0]
    large = list(filter(lambda v: v > 1, values))
    return sum(even), len(even), len(large), sum(map(abs, values))


@program
def bits_of_numbers(x):
    a, b = int(x[0].argmax()) + 1, int(x[1].argmax())
    c = a
    c |= 8
    return a & b, a | b, a ^ b, a << 1, a >> 1, 1 << b, c, a


@program
def list_of_dynamic_length(x):
    values = x.argmax(1).tolist()
    total = 0
    for v in values:
        if v & 1:
            total += v
    return (
        total, sum(values), max(values), min(values), values.count(1),
        values.index(values[-1]), 2 in values,
    )  # fmt: skip


@program
def rows_of_dynamic_number(x):
    y, longest = x.clone(), 0.0
    for row, column in (x > 0.5).nonzero().tolist():
        y[row, column] = 0
    for left, top, right, bottom in x.tolist():
        longest = max(longest, right - left, bottom - top)
    return y, longest


@program
def sums_of_ranges(x):
    n = int((x > 0).sum())
    return sum(range(n)), sum(i * i for i in range(n)), len(range(n))


@refused
def keys_of_run_time(x):
    counts = {}
    for v in x.argmax(1).tolist():
        counts[v] = counts.get(v, 0) + 1
    return len(counts)


@refused
def size_of_a_set(x):
    return len(set(x.argmax(1).tolist())) + len({int(v) for v in x[0]})


@refused
def order_of_a_set(x):
    total = 0
    for n, v in enumerate(set(x[0].long().tolist())):
        total += n * v
    return total


@program
def read_by_functions_of_torch(x):
    n = 0
    if torch.is_nonzero((x > 1).sum()) and not (x[0, 0] > 0).is_nonzero():
        x = -x
    while torch.is_nonzero(x.abs().max() > 1):
        x, n = x * 0.5, n + 1
    return x, n


@program
def places_beside_tensors(x):
    """A place of run time and a tensor in one index: torch needs numbers of Python there."""
    rows, low, last = torch.arange(len(x)), torch.tensor([0, 1]), x.shape[1] - 1
    place, found, y = x[0].argmax(), x[0] * 0, x.clone()
    for n in range(len(x)):
        found = found + x[n, low].sum() + x[rows, n % 2].sum()
        y[n, low] = x[rows[:1], n % 2] * 2
        y[n, x[n] > 1] = n
    y[rows, place] += 1
    first = y[:, 1].argmax().item()
    y[[0, first]] = y[[first, 0]]
    mask, cube = x > 0, torch.stack([x, y], -1)
    return (
        found, y, x[rows, last], x[[0, 0], last], x[rows, place], x[place % len(x), x[0] > 0],
        y[[len(x) - 1, first], [0, 2]], cube[place % len(x), :, low % 1], cube[rows, last, :1],
        cube[mask, :1],
    )  # fmt: skip


@program
def equal_tensors_of_other_sizes(x):
    """`torch.equal` of sizes that may differ: torch takes those of the example for all."""
    found, signs = 0, torch.sign(x[:, 0])
    if torch.equal(signs[-2:], torch.ones(2)):
        found = found + 1
    if len(x) >= 2 and torch.equal(signs[-2:], signs[:2]):
        found = found + 2
    if torch.equal(signs[signs > 0], -signs[signs < 0]):
        found = found + 4
    return x.sum(), found


@program
def keys_that_python_knows(x):
    """Whether a number or a tuple of run time is a key, and what the dict has for it."""
    names, walls, found, total = {0: 0.5, 2: 2.5}, {(0, 1), (2, 2)}, 0, 0.0
    places = x.argmax(1).tolist()
    for n in range(len(places) - 1):
        if (places[n], places[n + 1]) in walls:
            found += 1
        if places[n] in names.keys() and (places[n], 3) not in [(2, 3), (1, 1)]:
            found += 10
        total += names.get(places[n], 0.25)
    return x.sum() + total, found


@functools.lru_cache
def _ramp(shape, scale=1):
    rows, columns = shape
    return torch.arange(rows * columns).reshape(rows, columns) * scale


@program
def cached_functions_of_run_time(x):
    y = x + _ramp(tuple(x.shape)) * _ramp(x.shape, scale=2)
    if x.sum() > 0:
        y = y * _ramp((len(x), 1))
    for n in range(x.shape[0]):
        y = y + _ramp((n + 1, 2)).sum()
    return y + _ramp((len(x), 1), scale=int((x > 0).sum()))


@program
def views_of_run_time_sizes(x):
    """The size for -1 beside sizes that are known at run time: torch asks whether these are 0."""
    one, two = 1 + int(x[0].argmax()) % 2, 2 * int((x[0] > 0).any()) + 2
    y = x.view(len(x), one, -1) + torch.reshape(x, (len(x), -1, two)).sum()
    return y.reshape(-1), x.T.reshape(two, -1).sum(1)[:2]


@program
def staircase_search(x):
    wanted, row, column = x[-1, 0], 0, x.shape[1] - 1
    while row < x.shape[0] and column >= 0:
        if x[row, column] == wanted:
            return torch.tensor([row, column])
        if x[row, column] > wanted:
            column -= 1
        else:
            row += 1
    return torch.tensor([-1, -row // 2])


@program
def functions_of_integers(x):
    n = int(x.abs().sum() * 5) + 1
    parts = [x.sum().item(), x.max().item(), 2]
    if x.sum() > 0:
        n = n * 2
        parts[0] = parts[0] * 2
    return math.gcd(n, 6), sum(parts), math.gcd(x.shape[0], 4)


@refused
def functions_of_integers_without_an_operator(x):
    return x * math.comb(int(x.abs().sum()) + 5, 2)


@refused
def integers_of_more_than_64_bits(x):
    return (int(x.sum()) ^ 3) * 7 % (1 << 64)
