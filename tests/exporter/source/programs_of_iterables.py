"""Programs with ranges, generators and lists of numbers whose lengths are of run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

PROGRAMS: dict[str, Callable[..., Any]] = {}


MORE: dict[str, Callable[..., Any]] = {}


def program(function: Any) -> Any:
    """Add a program to the table: a function of one matrix, or a module."""
    PROGRAMS[function.__name__] = function
    return function


def more(function: Any) -> Any:
    """Add one that is tried in the slow share."""
    MORE[function.__name__] = function
    return function


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


@more
def means_of_parts(x):
    lengths = (x.abs()[:, 0].long() + 1).tolist()
    values = torch.arange(sum(lengths)).float()
    return torch.stack([part.mean() for part in torch.split(values, lengths)])
