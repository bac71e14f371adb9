"""Programs that return an object on one side of a decision and change it on the other.

They are code of users: without annotations, and not always in good style.
"""

from __future__ import annotations

import torch

from tests.exporter.source.tables import Table, adding_to

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""


@program
def dict_returned_or_changed(x):
    held = {"a": x, "n": 0}

    def note():
        held["a"] = held["a"] * 2
        held["n"] += 1

    for n in range(3):
        if x.sum() > n:
            return x, held
        note()
    held["n"] = 7
    return x * 3, held


@program
def dict_returned_in_a_loop(x):
    held = {"a": x, "n": 0}
    if x.max() > 2:
        return held
    for row in x:
        if row.sum() > 1:
            return held
        held["n"] += 1
        held["a"] = held["a"] + row
    held["a"] = held["a"] * 2
    return held


@program
def list_returned_between_changes(x):
    state = [x.sum(), x.mean()]
    for _ in range(2):
        if state[0] > 3:
            return state
        state[0] = state[0] + 2
        if state[1] > 3:
            return state
        state[1] = state[1] + 1
    state[0] = state[0] * 0
    return state


@program
def tensor_returned_or_written_to(x):
    y, n = x * 1, x.sum()
    while n < 4:
        if y.max() > 1:
            return n, y
        y += 1
        n = n + 2
    for k in range(2):
        if y.mean() < k:
            return n, y
        y *= 2
    return n * 2, y


@program
def cache_returned_by_a_helper(x):
    cache = {"v": x.sum()}

    def updated():
        for n in range(2):
            if cache["v"] > n:
                return cache
            cache["v"] = cache["v"] + 2
        cache["v"] = x.mean()
        return cache

    found = updated()
    return found["v"] * 2, cache


@program
def dict_of_a_helper_changed_after_it(x):
    cache = {"v": x.sum()}

    def updated(value):
        for n in range(2):
            if value["v"] > n:
                return value
            value["v"] = value["v"] + 2
        return {"v": x.mean()}

    found = updated(cache)
    cache["v"] = cache["v"] + 1
    return found, cache


@program
def tensor_of_a_helper_written_to_after_it(x):
    y = x * 1

    def moved(value):
        for n in range(2):
            if value.sum() > n:
                return value, n
            value += 2
        return value * 2, 5

    found, n = moved(y)
    y *= 3
    return found, n


@program
def dict_returned_in_a_block_that_changes_it(x):
    held = {"v": x.sum()}

    class Block:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            if held["v"] > 5:
                held["v"] = held["v"] * 3
            return False

    with Block(), torch.no_grad():
        for n in range(3):
            if x.sum() > n:
                return held
            held["v"] = held["v"] + 1
    return held


@program
def dict_of_the_last_iteration_changed_after_it(x):
    first = {"v": x.sum()}
    for _ in x:
        last = first
    first["v"] = first["v"] + 1
    return last


@program
class HooksOfOneSide(torch.nn.Module):
    """Hooks before and after a module, with names and without."""

    def __init__(self):
        super().__init__()
        self.inner, self.scaled = torch.nn.Identity(), torch.nn.Tanh()
        self.inner.register_forward_pre_hook(self.before)
        self.inner.register_forward_hook(self.after)
        self.scaled.register_forward_pre_hook(self.before_with_names, with_kwargs=True)
        self.scaled.register_forward_hook(self.after)
        self.register_forward_hook(self.after)

    def before(self, module, args):
        return args[0] * 2 if args[0].max() > 1 else args[0]

    def before_with_names(self, module, args, names):
        if args[0].sum() < 0:
            return (args[0] - 1,), names
        return args, names

    def after(self, module, args, result):
        if result.max() > 1:
            return result / result.max()
        return result

    def forward(self, x):
        return self.inner(x) + self.scaled(x)
