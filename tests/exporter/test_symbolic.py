"""Numbers of a program: sizes, items, their arithmetic, checks on them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import randn

from tests.exporter.programs import Program, Programs, check, run, same

PROGRAMS = Programs()
ROWS = {"x": {0: "n", 1: "m"}}


def _matrix():
    return (randn(3, 4),)


@PROGRAMS(_matrix, dynamic=ROWS)
def size_arithmetic(x):
    """+, -, *, //, % and powers of sizes."""
    n, m = x.shape
    return n + m, n * m, n - m, (n * 5) // m, (n + 7) % m, n**2, -n


@PROGRAMS(_matrix, dynamic=ROWS)
def size_division(x):
    """True division gives floats."""
    n, m = x.shape
    return n / m, x * (n / 2), float(n), x / n


@PROGRAMS(_matrix, dynamic=ROWS)
def size_minimum(x):
    n, m = x.shape
    return torch.sym_max(n, m), torch.sym_min(n, m), x[: torch.sym_min(n, 2)]


@PROGRAMS(_matrix, dynamic=ROWS)
def size_to_tensor(x):
    return torch.tensor(x.shape[0]) + 1, torch.scalar_tensor(x.shape[1]), x.new_zeros(x.shape[1])


@PROGRAMS(_matrix, dynamic=ROWS)
def size_scales(x):
    """Attention's `1 / sqrt(d)` of a dynamic size."""
    return x / math.sqrt(x.shape[-1]), x * x.shape[-1] ** -0.5


@PROGRAMS(_matrix, dynamic=ROWS)
def size_rounding(x):
    """Python's round, floor and ceil of a quotient."""
    n = x.shape[0]
    return round(n / 2), math.floor(n / 2), math.ceil(n / 2), x[: math.ceil(n / 2)]


@PROGRAMS(lambda: (randn(6, 4),), dynamic={"x": {0: "n"}}, sizes=({"n": 8}, {"n": 1}))
def numbers_of_python(x):
    """`int` and `float` of what is computed of a size; no number is 1 in the example."""
    n = x.shape[0]
    return x[: int(n * 0.5)], torch.full((2,), float(2 * n - 1)), x / math.sqrt(n)


@PROGRAMS(_matrix, dynamic=ROWS)
def size_compared(x):
    return x + (1 if x.shape[0] >= 0 else 2), x.numel()


@PROGRAMS(_matrix, dynamic=ROWS)
def numel_and_flatten(x):
    return x.flatten() + torch.arange(x.numel()), x.view(-1).shape[0]


@PROGRAMS(_matrix, dynamic=ROWS)
def checked(x):
    torch._check(x.shape[0] < 1000)
    assert x.shape[1] < 1000
    return x * 2


@PROGRAMS(lambda: (torch.tensor([2, 3]),))
def item_as_size(x):
    n = x[0].item()
    torch._check(n >= 0)
    torch._check(n < 100)
    return torch.ones(n, 3), torch.arange(n) + x[1]


@PROGRAMS(lambda: (torch.tensor(2.5), torch.tensor(3)))
def item_arithmetic(x, n):
    f, i = x.item(), n.item()
    return f * 2, i + 1, f * i, torch.tensor([1.0]) * f


@PROGRAMS(lambda: (randn(5), torch.tensor(2)))
def item_as_index(x, n):
    i = n.item()
    torch._check(i >= 0)
    torch._check(i < 5)
    return x[i], x[:i], x.narrow(0, 1, i)


@PROGRAMS(lambda: (torch.tensor([1, 2]), randn(3, 4)))
def tolist(sizes, x):
    """Split by the numbers of a tensor."""
    a, b = sizes.tolist()
    for size in (a, b):
        torch._check(size >= 0)
    torch._check(a + b == 3)
    return torch.split(x, [a, b])


@PROGRAMS(lambda: (randn(4), torch.tensor([1.0, 2.0])))
def asserted(x, y):
    torch.ops.aten._assert_async.msg(y.sum() > 0, "positive")
    return x + y.sum()


@PROGRAMS(lambda: (torch.tensor(True), randn(3)))
def bool_item(flag, x):
    return torch.where(flag, x, -x), flag.logical_not()


@PROGRAMS(lambda: (randn(4, 3),), dynamic={"x": {0: "n"}})
def ranges_of_size(x):
    """Ranges whose length is dynamic (torch fixes that of a linspace)."""
    return torch.arange(x.shape[0]) / x.shape[0], torch.arange(0, x.shape[0], 2)


@PROGRAMS(lambda: (randn(2, 6, 4),), dynamic={"x": {0: "b", 1: "t"}})
def causal_mask(x):
    t = x.shape[1]
    mask = torch.ones(t, t, dtype=torch.bool).tril()
    return (x @ x.transpose(1, 2)).masked_fill(~mask, -1e9).softmax(-1)


@PROGRAMS(lambda: (randn(2, 6, 4),), dynamic={"x": {0: "b", 1: "t"}})
def rotary(x):
    """Positions from a dynamic size."""
    t = torch.arange(x.shape[1], dtype=torch.float32)
    angles = torch.outer(t, 1.0 / 10000 ** (torch.arange(0, 2).float() / 2))
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


@PROGRAMS(lambda: (randn(2, 3, 8, 8),), dynamic={"x": {0: "b", 2: "h", 3: "w"}})
def resize_by_size(x):
    """Interpolate to a size computed from the input's."""
    h, w = x.shape[-2:]
    return torch.nn.functional.interpolate(x, size=(h * 2, w + 3))


@PROGRAMS(lambda: (randn(5, 2),), dynamic={"x": {0: "n"}})
def sum_of_all_above(x):
    """Counts of a mask."""
    return (x > 0).sum(), x[x[:, 0] > 0].shape[0]


@pytest.mark.share(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_numbers_are_those_of_torch(program: Program) -> None:
    """Values and Python types, at other sizes too."""
    run(program)


def test_items_follow_the_values() -> None:
    """Another input, another size."""
    program = check(item_as_size, (torch.tensor([2, 3]),))
    for n in (0, 1, 7):
        same(program, item_as_size, (torch.tensor([n, 1]),))


def test_round_is_pythons() -> None:
    """Halves go to the even number."""

    def halves(x):
        return round(x.shape[0] / 2)

    program = check(halves, (randn(4),), None, {"x": {0: "n"}})
    for n in (3, 5, 7, 9):
        assert program(randn(n)) == round(n / 2)


@pytest.mark.parametrize("dim", [torch.export.Dim.AUTO, torch.export.Dim.DYNAMIC, "n"])
def test_a_number_of_python_leaves_a_size_dynamic(dim: object) -> None:
    """In each way to say that it is."""
    check(lambda x: x * float(x.shape[0]), (randn(4),), None, {"x": {0: dim}}, sizes=({"*": 0},))


def test_a_number_that_stays_as_in_the_example_is_told() -> None:
    """A dict has as many entries as in the example."""

    def turns(x):
        return {str(n): x + n for n in range(x.shape[0] // 2)}

    with pytest.warns(UserWarning, match=r"`n // 2` was declared dynamic.* fixes it to 2"):
        check(turns, (randn(4),), None, {"x": {0: "n"}}, sizes=())
