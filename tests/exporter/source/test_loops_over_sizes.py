"""Loops of Python over dynamic sizes are loops of the model; what cannot be one is said."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError, OnnxwrightWarning
from tests.exporter.source import programs

WIDTH = 3
LENGTHS = (5, 2, 9)


class Cell(torch.nn.Module):
    """A recurrent layer written by hand, with a dynamic batch as well."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.cell = torch.nn.LSTMCell(WIDTH, WIDTH)
        for parameter in self.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator)

    def forward(self, x: Any) -> Any:
        state = (x.new_zeros(x.shape[0], WIDTH), x.new_zeros(x.shape[0], WIDTH))
        outputs = []
        for t in range(x.size(1)):
            state = self.cell(x[:, t], state)
            outputs += [state[0]]
        return torch.stack(outputs, dim=1), state


class Helper(torch.nn.Module):
    """The loop is in a method, over rows, forwards and backwards."""

    def run(self, rows: Any) -> Any:
        h, seen = torch.zeros(WIDTH), []
        for row in rows:
            h = torch.tanh(h + row)
            seen.append(h)
        return torch.stack(seen)

    def forward(self, x: Any) -> Any:
        return torch.cat([self.run(x), self.run(x.flip(0)).flip(0)], -1)


def backwards(x: Any) -> Any:
    h, seen = x[0] * 0, []
    for t in range(x.shape[0] - 1, -1, -1):
        h = h * 0.5 + x[t]
        seen.append(h)
    return torch.stack(seen[::-1])


def reversed_range(x: Any) -> Any:
    h = x[0] * 0
    for t in reversed(range(x.shape[0])):
        h = h * 0.5 + x[t]
    return h


def written(x: Any) -> Any:
    y = torch.zeros_like(x)
    for t in range(x.shape[0]):
        y[t] = x[t] + (y[t - 1] if t > 0 else 0)
    return y


def decided_by_counter(x: Any) -> Any:
    seen = []
    for t in range(x.shape[0]):
        if t == 0:
            y = x[0]
        elif t % 2 == 0:
            y = x[t] * 2
        else:
            y = x[t] - x[t - 1]
        seen.append(y)
    return torch.stack(seen)


def first_without_state(x: Any) -> Any:
    h = None
    for row in x:
        h = row if h is None else 0.5 * h + row
    return h


def windows(x: Any) -> Any:
    return torch.stack([x[max(0, t - 2) : t + 1].mean(0) for t in range(x.shape[0])])


def nested(x: Any) -> Any:
    n = x.shape[0]
    distances = torch.zeros(n, n)
    for i in range(n):
        for j in range(i + 1, n):
            distances[i, j] = distances[j, i] = (x[i] - x[j]).abs().sum()
    return distances


def grows(x: Any) -> Any:
    y = x[:1]
    for t in range(1, x.shape[0]):
        y = torch.cat([y, y[-1:] * 0.5 + x[t : t + 1]])
    return y


def enumerated(x: Any) -> Any:
    total = x[0] * 0
    for n, (a, b) in enumerate(zip(x, x.flip(0))):
        total = total + a * b * (n + 1)
    return total


def parts(x: Any) -> Any:
    rows = x.unbind(0)
    total = rows[0] * 0
    for n in range(len(rows)):
        total = total + rows[n] * n
    return total + torch.stack([part.squeeze(0) * 2 for part in x.split(1)]).sum(0)


def left_early(x: Any) -> Any:
    total = x[0] * 0
    for row in x:
        total = total + row
        if total.sum() > 3:
            break
    return total


def counted(x: Any) -> Any:
    n, total = 0, x[0] * 0
    while n < x.shape[0]:
        total = total * 0.5 + x[n]
        n += 1
    return total


def steps_of_two(x: Any) -> Any:
    n, seen = 0, [x[:1].sum(0)]
    while n + 2 <= x.shape[0]:
        seen.append(x[n : n + 2].sum(0))
        n += 2
    return torch.stack(seen)


def of_the_whole_list(x: Any) -> Any:
    sums = [row.sum() for row in x]
    return sum(sums) / len(sums), max(sums), min(sums), sum([row > 0 for row in x])


def best_path(x: Any) -> Any:
    score, back = x[0], []
    for t in range(1, x.shape[0]):
        score, before = (score[:, None] + x[t]).max(0)
        back.append(before)
    best = score.argmax()
    path = [best]
    for before in reversed(back):
        best = before[best]
        path.append(best)
    path.reverse()
    return torch.stack(path)


def of_functions_of_math(x: Any) -> Any:
    total = x[0] * 0
    for t in range(x.shape[0]):
        total = total + x[t] * math.exp(-t) + 2**t
    return total / math.sqrt(x.shape[0])


def keys(x: Any) -> Any:
    weights = {0: 2.0, 3: 0.5}
    total = x[0] * 0
    for t in range(x.shape[0]):
        if t in weights:
            total = total + x[t]
    return total


def in_front(x: Any) -> Any:
    seen = []
    for row in x.flip(0):
        seen.insert(0, row * 2)
    return torch.stack(seen), seen[0], seen[-1]


def with_more(x: Any) -> Any:
    seen = [x[0] + 1]
    for row in x:
        seen.extend([row, row * 2])
    last = seen.pop()
    return torch.stack(seen), last


def all_and_any(x: Any) -> Any:
    more = any(row.sum() > 1 for row in x)
    less = all(row.min() < 0 for row in x)
    total = sum(row.max() for row in x if row.sum() > 0)
    return x[0, 0] * 0 + total + (1 if more else 0) + (2 if less else 0)


def some_rows(x: Any) -> Any:
    return torch.stack([x[0], *[row * 2 for row in x if row.sum() > 0]])


def pairs_of_rows(x: Any) -> Any:
    for t in range(0, x.shape[0], 2):
        yield x[t : t + 2]


def of_a_generator(x: Any) -> Any:
    return torch.stack([pair.sum(0) for pair in pairs_of_rows(x)])


def of_python(x: Any) -> Any:
    total = x[0] * 0
    for t in range(x.shape[0]):
        total = total + x[t] * len(bin(t))
    return total


def other_sizes(x: Any) -> Any:
    seen = []
    for t in range(x.shape[0]):
        seen.append(x[: t + 1] @ x[: t + 1].t())
    return torch.cat([part.flatten() for part in seen])


def around_each_row(x: Any) -> Any:
    seen, total = [], x.new_zeros(1, 1)
    for t in range(x.shape[0]):
        lower = max(int(x[t].argmax()), 1)
        seen.append(x[t : t + 1, :lower].sum(1) if x[t].sum() > 0 else x[t : 1 + t, 0])
        for n in range(x.shape[1]):
            total = total + x[t : t + 1, n : n + 1]
    return torch.cat(seen), total


def before_each_row(x: Any) -> Any:
    made = x.clone()
    for t, row in enumerate(x):
        made[t : t + 1] = x[t - 1 : t + 1].sum(0, keepdim=True) + row.sum()
    return made


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    backwards, reversed_range, written, decided_by_counter, first_without_state, windows, nested,
    grows, enumerated, parts, left_early, counted, steps_of_two, of_the_whole_list, best_path,
    of_functions_of_math, keys, in_front, with_more, all_and_any, some_rows,
    around_each_row, before_each_row,
)  # fmt: skip


def rows(count: int) -> Any:
    generator = torch.Generator().manual_seed(count)
    return torch.randn(count, WIDTH, generator=generator)


def differs(program: Any, module: Any, x: Any) -> bool:
    leaves = torch.utils._pytree.tree_leaves
    pairs = zip(leaves(program(x.clone())), leaves(module(x.clone())), strict=True)
    return any(a.shape != b.shape or not torch.allclose(a, b, atol=1e-5) for a, b in pairs)


@pytest.mark.share(4)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_loop_over_a_dynamic_size(function: Callable[..., Any]) -> None:
    module = programs.as_module(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)  # no size is fixed
        if function is first_without_state:  # without rows, its result is None
            warnings.filterwarnings("ignore", r"[\s\S]*OW863", OnnxwrightWarning)
        if function is best_path:  # without rows, it raises an error
            warnings.filterwarnings("ignore", r"[\s\S]*OW833[^\n]*n >= 1", OnnxwrightWarning)
        program = ow.export(module, (rows(5),), dynamic_shapes=({0: "n"},))
    assert any(node.op_type in ("Loop", "Scan") for node in program.model.graph.all_nodes())
    for length in LENGTHS:
        assert not differs(program, module, rows(length)), length


@pytest.mark.parametrize("kind", [Cell, Helper])
def test_modules_with_loops_over_sizes(kind: Any) -> None:
    module = kind()
    shape = (2, 5, WIDTH) if kind is Cell else (5, WIDTH)
    names = {0: "batch", 1: "time"} if kind is Cell else {0: "time"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(module, (torch.randn(shape),), dynamic_shapes=(names,), verify=True)
    assert program.report.verification.ok
    assert not program.report.verification.branches
    for size in LENGTHS:
        assert not differs(program, module, torch.randn([n + size for n in shape[:-1]] + [WIDTH]))
    kinds = {choice.kind for choice in program.report.captures[-1].choices}
    assert kinds == {"Loop over a size"}


@pytest.mark.parametrize(
    ("function", "reason"),
    [(of_python, "Python asks for"), (other_sizes, "an item of the list")],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_a_loop_that_cannot_be_kept_is_unrolled_with_a_reason(
    function: Callable[..., Any], reason: str
) -> None:
    module = programs.as_module(function)
    line = r"a loop is unrolled: `for t in range\(x.shape\[0\]\):` \(test_loops_over_sizes.py:\d+\)"
    with pytest.warns(OnnxwrightWarning, match=rf"OW827(?s:.*){line}: .*{reason}"):
        program = ow.export(module, (rows(5),), dynamic_shapes=({0: "n"},))
    assert not differs(program, module, rows(5))
    with pytest.raises(ExportError, match="OW826"):
        program(rows(4))


def test_a_size_that_must_be_dynamic_names_the_reason() -> None:
    """With `Dim.DYNAMIC`, and a capture by source, nothing is fixed in silence."""
    module = programs.as_module(other_sizes)
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    with pytest.raises(ExportError, match="OW841"):
        ow.export(module, (rows(5),), dynamic_shapes=shapes, capture="source")


def test_a_generator_over_a_dynamic_size_is_refused() -> None:
    module = programs.as_module(of_a_generator)
    with pytest.raises(ExportError, match="OW842(?s:.*)a generator"):
        ow.export(module, (rows(5),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))


def test_loops_over_sizes_that_nobody_asked_for_are_unrolled() -> None:
    program = ow.export(programs.as_module(written), (rows(5),))
    assert not any(node.op_type == "Loop" for node in program.model.graph.all_nodes())


def test_loops_over_sizes_that_are_dynamic_by_themselves_are_kept() -> None:
    module = programs.as_module(written)
    program = ow.export(module, (rows(5),), dynamic_shapes="auto")
    for n in (1, 5, 8):
        torch.testing.assert_close(program(rows(n)), module(rows(n)))
