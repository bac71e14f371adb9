"""Higher-order operators: cond, while_loop, scan, map, associative_scan, nested and dynamic."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn, randn
from torch._higher_order_ops import (
    associative_scan,
    scan,
    while_loop,
    while_loop_stack_output,
)
from torch._higher_order_ops.map import map as map_rows
from torch.utils.checkpoint import checkpoint

from tests.exporter.programs import Program, Programs, check, run, same
from tests.harness.modules import module_with

PROGRAMS = Programs()


@PROGRAMS(lambda: (randn(2, 3),), dynamic={"x": {0: "b"}}, ops={"If": 1})
def cond(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


@PROGRAMS(lambda: (randn(2, 3), randn(3)), ops={"If": 1})
@module_with(lambda: {"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
def CondOfModules(self, x, y):
    """Branches are modules with weights; several results."""
    return torch.cond(
        y.mean() > 0,
        lambda x, y: (self.a(x), y + 1),
        lambda x, y: (self.b(x).relu(), y * 2),
        (x, y),
    )


@PROGRAMS(lambda: (randn(2, 3),))
def nested_cond(x):
    def inner(x):
        return torch.cond(x.sum() > 1, lambda x: x.sin(), lambda x: x.cos(), (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x * 2, (x,))


@PROGRAMS(lambda: (randn(4, 3),), dynamic={"x": {0: "b"}})
def cond_on_a_size(x):
    return torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,))


@PROGRAMS(lambda: (randn(2, 3),))
def cond_on_bool_input(x):
    """A comparison of elements as the predicate, a constant in a branch."""
    return torch.cond(x[0, 0] > 0, lambda x: x + torch.ones(3), lambda x: x.clone(), (x,))


def _complex() -> tuple[Any, ...]:
    return (randn(3, 2, dtype=torch.complex64),)


@PROGRAMS(_complex, dynamic={"x": {0: "b"}}, ops={"If": 1})
def complex_branches(x):
    """Complex tensors go into the branches and come out of them."""
    return torch.cond(
        x.abs().sum() > 0,
        lambda x: (x * 2j, x.abs()),
        lambda x: (x + 1j, x.angle()),
        (x,),
    )


@PROGRAMS(_complex, dynamic={"x": {0: "b"}}, ops={"Loop": 1})
def complex_loop(x):
    """A complex tensor and a number are carried; another complex tensor is read."""
    return while_loop(
        lambda i, y: (i < 3) & (y.abs().sum() < 100),
        lambda i, y: (i + 1, y * x),
        (torch.tensor(0), x + 1),
    )


@PROGRAMS(_complex, dynamic={"x": {0: "b"}}, ops={"Scan": 1})
def complex_scan(x):
    """What is carried is complex, rows are complex or real."""
    return scan(lambda c, r: (c * r, (c + r, r.abs())), torch.ones(2, dtype=torch.complex64), x)


@PROGRAMS(_complex, ops={"Scan": 1})
def complex_rows(x):
    """map over complex rows."""
    return map_rows(lambda row, y: (row * y, row.angle()), x, x[0] * 1)


@PROGRAMS(_complex)
def complex_stacked_loop(x):
    """All turns of a loop over a complex tensor."""
    return while_loop_stack_output(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 1j), (torch.tensor(0), x.clone()), ()
    )


@PROGRAMS(lambda: (randn(2, 6),), ops={"If": 1})
def cond_within_autocast(x):
    """The region changes the types within the branches."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.cond(x.sum() > 0, lambda x: x @ x.t(), lambda x: x @ x.t() + 1, (x,))


@PROGRAMS(lambda: (torch.tensor(0), randn(2, 3)), ops={"Loop": 1})
def loop(i, x):
    return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))


@PROGRAMS(lambda: (randn(2, 3),), dynamic={"x": {0: "b"}})
def loop_until(x):
    """As many turns as the values want."""
    return while_loop(lambda x: x.abs().sum() < 50, lambda x: (x * 1.5,), (x,))


@PROGRAMS(lambda: (torch.tensor(3), randn(2, 3)))
@module_with(lambda: {"linear": nn.Linear(3, 3)})
def LoopOfModule(self, n, x):
    """A body with weights."""
    return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, self.linear(x)), (n, x))


@PROGRAMS(lambda: (torch.tensor(7), randn(3)))
def loop_that_never_turns(i, x):
    """The condition is false at once."""
    return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))


@PROGRAMS(lambda: (torch.tensor(0), torch.tensor(0)))
def nested_loops(i, j):
    def outer(i, j):
        _, made = while_loop(lambda k, j: k < 3, lambda k, j: (k + 1, j + i), (i.clone(), j))
        return i + 1, made

    return while_loop(lambda i, j: i < 3, outer, (i, j))


@PROGRAMS(lambda: (randn(4, 3),), ops={"Scan": 1})
def running_sum(x):
    return scan(lambda c, x: (c + x, c * x), torch.zeros(3), x)


@PROGRAMS(lambda: (randn(4, 3),), dynamic={"x": {0: "t"}})
def scan_over_dynamic_rows(x):
    """As many rows as there are."""
    return scan(lambda c, x: (c * 0.5 + x, (c - x).relu()), torch.zeros(3), x)


@PROGRAMS(lambda: (randn(2, 4, 3),))
def scan_backwards_along_axis(x):
    """Another axis, from the end."""
    return scan(lambda c, x: (c + x, c + 0), torch.zeros(2, 3), x, dim=1, reverse=True)


@PROGRAMS(lambda: ({"a": randn(4, 3), "b": randn(4)},))
def scan_of_trees(d):
    """State and rows are nested."""

    def step(c, x):
        total = {"s": c["s"] + x["a"] * x["b"]}
        return total, {"out": total["s"] * 2}

    return scan(step, {"s": torch.zeros(3)}, d)


@PROGRAMS(lambda: (randn(4, 3), randn(3)), ops={"Scan": 1})
def mapped(xs, y):
    return map_rows(lambda x, y: x.sin() + y, xs, y)


@PROGRAMS(lambda: (randn(4, 3), randn(3)), dynamic={"xs": {0: "n"}, "y": None})
def mapped_over_dynamic_rows(xs, y):
    """As many rows as there are."""
    return map_rows(lambda x, y: x * y.sum(), xs, y)


@PROGRAMS(lambda: (randn(4, 3),))
def prefix_products(x):
    return associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic")


@PROGRAMS(lambda: (randn(5, 2),))
def prefix_sums_backwards(x):
    """associative_scan from the end."""
    return associative_scan(lambda a, b: a + b, x, 0, reverse=True, combine_mode="generic")


@PROGRAMS(lambda: (randn(4, 3), randn(3, 2)), dynamic={"x": {0: "n"}, "w": None})
def vmapped(x, w):
    """torch.vmap, nested, with an axis that is not mapped."""
    rows = torch.vmap(lambda r: r @ w + r.sum())(x)
    return rows, torch.vmap(torch.vmap(torch.sin), in_dims=1, out_dims=1)(x)


@PROGRAMS(lambda: (randn(2, 3),), dynamic={"x": {0: "b"}})
@module_with(lambda: {"linear": nn.Linear(3, 3)})
def Checkpointed(self, x):
    """Activations that are computed again in training."""
    return checkpoint(lambda x: self.linear(x).relu(), x, use_reentrant=False) + x


@PROGRAMS(lambda: (randn(2, 3),))
def repeated_region(x):
    """A region that is compiled once and called twice."""
    return _region(_region(x))


@torch.compiler.nested_compile_region
def _region(x):
    return x.sin() + 1


@PROGRAMS(lambda: (randn(2, 3),))
def cond_within_loop(x):
    def body(i, x):
        return i + 1, torch.cond(x.sum() > 0, lambda x: x - 1, lambda x: x + 2, (x,))

    return while_loop(lambda i, x: i < 4, body, (torch.tensor(0), x))


@pytest.mark.share(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_control_flow_does_what_torch_does(program: Program) -> None:
    """Checker, runtime, values, types and shapes."""
    run(program)


def test_both_branches_of_a_cond_are_right() -> None:
    """Whichever the example took."""
    program = check(cond, (torch.ones(2, 3),))
    same(program, cond, (-torch.ones(2, 3),))
    made = check(CondOfModules(), (randn(2, 3), torch.ones(3)))
    module = made.exported_program.module()
    same(made, module, (randn(2, 3), -torch.ones(3)))


def test_stacked_turns_of_a_loop() -> None:
    """What is carried, of every turn; the start where there is none."""

    def turns(n, x):
        return while_loop_stack_output(
            lambda n, x: n > 0, lambda n, x: (n - 1, x.cos()), (n, x), ()
        )

    program = check(turns, (torch.tensor(3), randn(2)))
    for n in (0, 1, 5):
        same(program, turns, (torch.tensor(n), randn(2)))


def test_loops_turn_as_often_as_the_input_says() -> None:
    """Never, once, many times."""
    program = check(loop, (torch.tensor(0), randn(2, 3)))
    for start in (5, 4, -3):
        same(program, loop, (torch.tensor(start), randn(2, 3)))
