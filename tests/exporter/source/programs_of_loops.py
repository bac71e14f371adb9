"""Programs whose loops grow tensors, carry None and numbers, and use lists and iterators."""

# ruff: noqa: E731

from __future__ import annotations

import contextlib
import math
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops import while_loop as loop_of_torch

from tests.exporter.source.tables import Table, adding_to
from tests.harness.modules import module_with

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""


@program
@module_with(lambda: {"embedding": nn.Embedding(10, 4), "out": nn.Linear(4, 10)})
def Greedy(self, x):
    """Greedy generation for a batch until every sequence has ended."""
    ids = (x.abs() * 2).long()[:, :2].clamp(0, 9)
    finished = torch.zeros(ids.shape[0], dtype=torch.bool)
    while ids.shape[1] < 8 and not finished.all():
        scores = self.out(self.embedding(ids).mean(1))
        token = torch.where(finished, torch.zeros(len(x)).long(), scores.argmax(-1))
        ids = torch.cat([ids, token[:, None]], dim=1)
        finished = finished | (token == 3) | (token == 7)
    return ids


@program
@module_with(lambda: {"query": nn.Linear(4, 4), "key": nn.Linear(4, 4)})
def Cached(self, x):
    """Generation with a cache that grows by a row in each iteration."""
    keys, values, n = self.key(x), x * 2, 0
    h = x[-1:]
    while n < 4 and h.abs().sum() > 0.5:
        h = torch.softmax(self.query(h) @ keys.T, -1) @ values
        keys = torch.cat([keys, self.key(h)])
        values = torch.cat([values, h * 0.5])
        n += 1
    return h, keys


@program
def grows_until_a_value_or_a_length(x):
    ids = x[:1, 0]
    done = ids.sum() > 100
    while not done:
        token = ids[-1:] * 0.5 + 1
        ids = torch.cat([ids, token])
        done = (token.sum() > 1.5) | (ids.shape[0] > 6)
    return ids, ids.shape[0]


@program
def doubles(x):
    y, s = x[0, :1], x.sum()
    while y.shape[0] < 16 and s < 5:
        y = torch.cat([y, y + 1])
        s = s + 1
    return y


@program
def grows_on_a_side(x):
    y, k = x[:1], 0
    while k < 5 and y.sum() < 10:
        if y[-1].max() > 0:
            y = torch.cat([y, y[:1] + 1])
        else:
            y = y + 0.5
        k += 1
    return y, k


@program
def grows_from_nothing(x):
    y, s = x.new_zeros(0, 4), x.sum()
    while s > 0:
        y = torch.cat([y, x[:1] * s])
        s = s - 4
    return y


@program
def two_that_grow_by_each_other(x):
    a, b, n = x[:1, 0], x[:, 0], 0
    while n < 4 and a.sum() < 4:
        a = torch.cat([a, b[:1].abs() + 1])
        b = torch.cat([b, a[-1:]])
        n += 1
    return a, b, a.shape[0] + b.shape[0]


@program
def shrinks(x):
    y = x[:, 0]
    while y.numel() > 1 and y.sum() > 0:
        y = y[1:]
    return y


@program
def shrinks_by_a_mask(x):
    y, limit = x.flatten(), x.max()
    while y.numel() > 0 and y.max() > 0.5:
        limit = limit - 0.5
        y = y[y < limit]
    return y


@program
def suppression(x):
    boxes, kept = x[:, 0], []
    left = boxes.argsort()
    while left.numel() > 0:
        best = left[-1]
        kept.append(best)
        left = left[:-1]
        left = left[(boxes[left] - boxes[best]).abs() > 0.25]
    return torch.stack(kept)


@program
def a_result_that_holds_a_dict_that_one_side_changes(x):
    held = {"a": x, "n": 0}

    def note(value):
        held["a"] = value
        return value

    if x.sum() > 0:
        if x.max() > 1:
            return x + 1, {"a": x * 2, "n": 1}
        held["a"] = x * 3
        return x, held
    y = note(x * 5)
    return y, held


@program
class LeftBehindByAMethod(nn.Module):
    """What a method leaves in an attribute that was None, and that nobody reads afterwards."""

    def __init__(self):
        super().__init__()
        self.seen = None

    def step(self, x):
        self.seen = x * 2
        return x + 1

    def forward(self, x):
        n = 0
        while x.sum() < 3 and n < 3:
            x = self.step(x)
            n += 1
        return x


@program
def numbers_of_math(x):
    n, k = int((x > 0).sum()), 0
    if n == 0:
        return x, 0
    while k < n and x.abs().max() > 0.5**k:
        k += 1
    return x / math.sqrt(n) + math.log(k + 1), k


@program
def a_loop_in_a_with_block_that_is_left(x):
    if x.sum() > 0:
        return x + 1
    with torch.no_grad():
        for n in range(3):
            if x[:, n].sum() > 0:
                return x * n
            y = x - n
            if y.max() > 2:
                break
    return y


@program
def a_while_loop_in_a_with_block_that_is_left(x):
    k = 0
    with contextlib.nullcontext(5) as most:
        while k < most:
            k += 1
            x = x - 0.5
            if x.sum() < 0:
                break
            if x.max() > 2:
                return x, k
    return x * 2, k


@program
def annotated_names(x):
    """As transformers: names with a type, bound where a value decides."""
    rows: list = []
    total: int
    if x.sum() > 0:
        scale: float = 2.0
        total: int = 1
        rows: list = [x]
    else:
        scale, total = 3.0, 2
    while x.abs().sum() > 5:
        factor: Any = 0.5
        x = x * factor
        total += 1

    def last():
        found: Any = x + total
        return found

    return torch.stack([*rows, last(), x])[-2] * scale if total else x


@program
def broken_off_in_rows(x):
    out = []
    for row in x:
        total, count = 0.0, 0
        for part in torch.cat([row, row, row[:2]]).exp().unbind():
            total += part.item()
            count += 1
            if total >= 4:
                break
        out.append(row * count)
    return torch.stack(out)


@program
def triangle(x):
    """A number of a loop that becomes a tensor in a loop inside of it, which may not run."""
    s = 0
    n = (x > 0).sum()
    for i in range(n):
        for j in range(i):
            s = s + x[0] * j
    return x[0] + s


class Budget:
    def __init__(self):
        self.left = 4

    def allows(self, x):
        self.left -= 1
        return x.abs().max() > 0.5 and self.left > 0


@program
def while_whose_condition_writes(x):
    budget, asked = Budget(), []
    while budget.allows(x):
        asked.append(budget.left)
        x = x / 2
    return x + budget.left, sum(asked)


@program
def decisions_of_torch_and_of_python(x):
    y = torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))
    if y[0, 0] > 0:
        y = torch.cond(pred=y.max() > 2, true_fn=torch.neg, false_fn=torch.abs, operands=(y,))

    def goes_on(n, z):
        return (n < 3) & (z.abs().sum() < 50)

    n, z = loop_of_torch(goes_on, lambda n, z: (n + 1, z * 2), (torch.tensor(0), y))
    return (z - 10, n) if z.sum() > 10 else (z, n * 2)
