"""Lists that grow in a loop of the model, with items of another size in each iteration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils import _pytree as pytree

import onnxwright as ow
from onnxwright.errors import OnnxwrightWarning
from tests.harness.modules import module_with

LENGTHS = (10, 4, 3, 1, 9, 17)


def chunks(x: Any) -> Any:
    """The last part is smaller; what is carried beside the list changes, too."""
    n, state, found, sums = x.shape[0], torch.zeros(3), [], []
    for i in range((n + 3) // 4):
        part = x[i * 4 : min(i * 4 + 4, n)]
        if i > 0:
            part = part + found[-1].mean(0)
        found.append(torch.softmax(part, 0) + state)
        sums += [part.sum(0)]
        state = state * 0.5 + part.sum(0)
    return torch.cat(found), torch.stack(sums), state


def uses(x: Any) -> Any:
    found = [x[:1]]
    for i in range(0, x.shape[0], 4):
        found.append(x[i : i + 4] * (i + 1))
    total = torch.zeros(3)
    for place, part in enumerate(found):
        total = total * 0.5 + part.sum(0) * place
    written = torch.cat(found)
    written[0] = 5
    return (
        found[0], found[-1], len(found), total, written, torch.cat(found),
        pad_sequence(found, batch_first=True, padding_value=7.0), pad_sequence(found),
    )  # fmt: skip


def by_values(x: Any) -> Any:
    """Items whose sizes are values, and items that a decision adds."""
    rows, some = [], []
    for row in x:
        rows.append(row[row > 0] if row.sum() > 0 else row)
        if row.sum() > 0:
            some.append(row[row > 0.5])
    return torch.cat(rows), len(rows), len(some)


def by_decisions(x: Any) -> Any:
    """No loop of the model: decisions add items, the first of which have one size."""
    rows, parts = [], []
    if x.sum() > 0:
        rows.append(x[:1])
    if x.mean() < 0.5:
        rows.append(x[:2] * 2)
    rows.append(x[1:])
    for place in range(3):
        mask = x[:, place] > 0
        if not mask.any():
            continue
        chosen = x[mask]
        for n in range(chosen.shape[0]):
            chosen[n] = chosen[n] * place
        parts.append({"rows": chosen, "count": len(chosen)})
    sums = torch.cat([part["rows"] * part["count"] for part in parts]) if parts else x
    return torch.cat(rows), sums, len(parts)


def other_axis(x: Any) -> Any:
    x, found = x.t()[None], []
    for start in range(0, x.shape[2], 4):
        found.append(x[:, :, start : start + 4].cumsum(2))
    return torch.cat(found, dim=2), torch.cat(found, -1) + x


def split(x: Any) -> Any:
    parts = x.split(4)
    return torch.cat([torch.softmax(p, 0) for p in torch.split(x.t(), 4, dim=1)], 1), parts[-1]


def nested(x: Any) -> Any:
    found = []
    for i in range(0, x.shape[0], 4):
        for j in range(i, min(i + 4, x.shape[0]), 2):
            found.append(x[j : j + 2] - x[i])
    return torch.cat(found)


def after_a_known_size(x: Any) -> Any:
    """The first item has a size of Python: the others were broadcast to it, or an error."""
    found, i = [], 0
    while i < x.shape[0]:
        found.append(x[i : i + 4])
        i += 4
    return torch.cat(found)


def beside_known_sizes(x: Any) -> Any:
    found = []
    for i in range(0, x.shape[0], 4):
        found.append(x[:1])
        found.append(x[i : i + 4])
    return torch.cat(found)


def two_known_sizes(x: Any) -> Any:
    """Neither size is one of run time: the second iteration finds that they differ."""
    found = []
    for row in x:
        if row.sum() > 0:
            found.append(row[:2])
        found.append(row)
        found.append(x[:, 0])
    return torch.cat(found)


def inserted(x: Any) -> Any:
    found = [x[:1]]
    for i in range(x.shape[0] // 4):
        found.insert(0, x[i * 4 : i * 4 + 1 + i % 2])
    return torch.cat(found)


def pyramid(x: Any) -> Any:
    """The condition asks for the size of the last item: another one in each iteration."""
    levels = [x]
    while levels[-1].shape[0] > 1:
        last = levels[-1]
        if last.shape[0] % 2:
            last = torch.cat([last, last[-1:]])
        levels.append(last[0::2] + last[1::2])
    return levels[-1], len(levels)


PROGRAMS = [
    chunks, uses, by_values, by_decisions, other_axis, split, nested, after_a_known_size,
    beside_known_sizes, two_known_sizes, inserted, pyramid,
]  # fmt: skip


@module_with(lambda function: {"function": function})
def Program(self, x: Any) -> Any:
    return self.function(x)


def sample(n: int) -> Any:
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(n))


@pytest.mark.share(4)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_items_of_different_sizes(function: Callable[..., Any]) -> None:
    how: Any = "auto" if function in (chunks, split) else "source"
    program = ow.export(
        Program(function), (sample(10),), dynamic_shapes=({0: "n"},), capture=how, verify=False
    )
    assert program.report.warnings == []
    for n in LENGTHS:
        wanted, found = function(sample(n)), program(sample(n))
        for a, b in zip(pytree.tree_leaves(wanted), pytree.tree_leaves(found), strict=True):
            torch.testing.assert_close(torch.as_tensor(b), torch.as_tensor(a))


class Scored(NamedTuple):
    row: Any
    score: Any


def as_a_list(x: Any) -> Any:
    """Rows, numbers, tuples with names, and parts of different sizes."""
    rows, places, scored, parts = [], [], [], []
    for n, row in enumerate(x):
        if row.sum() > 0:
            rows.append(row)
            places.append(n)
            scored.append(Scored(row * 2, row.sum()))
        parts.append(row[row > 0])
    return {"rows": rows, "places": places}, scored, parts


def test_lists_as_results() -> None:
    """The model has tensors of the items, the program gives the lists."""
    program = ow.export(
        Program(as_a_list), (sample(4),), dynamic_shapes=({0: "n"},), capture="source"
    )
    assert len(program.model.graph.outputs) == 6
    for n in LENGTHS:
        wanted, found = as_a_list(sample(n)), program(sample(n))
        assert pytree.tree_structure(found) == pytree.tree_structure(wanted)
        for a, b in zip(pytree.tree_leaves(wanted), pytree.tree_leaves(found), strict=True):
            torch.testing.assert_close(torch.as_tensor(b), torch.as_tensor(a))


def test_chunks_stay_as_they_are() -> None:
    """Their size follows from the dynamic one; that there are three of them is reported."""

    def chunked(x: Any) -> Any:
        return torch.cat([part * 2 for part in x.chunk(3)])

    program = ow.export(Program(chunked), (sample(10),), dynamic_shapes=({0: "n"},), verify=False)
    (warning,) = program.report.warnings
    assert "OW833" in str(warning)
    assert "== 3" in str(warning)
    for n in (9, 10, 17):
        torch.testing.assert_close(program(sample(n)), chunked(sample(n)))


def joined_along_another_axis(x: Any) -> Any:
    found = []
    for i in range(x.shape[0] // 4):
        found.append(x[i : i + 1 + i // 4])
    return torch.cat(found, 1)


def test_a_loop_that_is_unrolled_is_checked() -> None:
    """The model has the parts of the example; other numbers of them are refused in every way."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", OnnxwrightWarning)
        program = ow.export(
            Program(joined_along_another_axis), (sample(10),), dynamic_shapes=({0: "n"},),
            verify=False,
        )  # fmt: skip
    assert any("OW827" in str(w.message) for w in heard)
    torch.testing.assert_close(program(sample(9)), joined_along_another_axis(sample(9)))
    with pytest.raises(ow.OnnxwrightError, match="OW826"):
        program(sample(20))
