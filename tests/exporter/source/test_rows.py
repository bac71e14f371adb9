"""Lists of run-time length as columns: their items in every form, by themselves and in programs."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest
import torch

from onnxwright.errors import ExportError
from onnxwright.exporter.capture.control.places import Items
from onnxwright.exporter.capture.control.store import Store, opened
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.program_lists import List
from onnxwright.exporter.capture.values.columns import Column, ItemForm, columns_of
from onnxwright.exporter.capture.values.list_writes import written
from onnxwright.exporter.capture.values.rows import Rows
from tests.exporter.source.tables import Table, adding_to
from tests.exporter.source.test_appended_lists import compare, exported


class Box(NamedTuple):
    sides: Any
    score: Any


@dataclasses.dataclass
class Hit:
    row: Any
    score: Any


def ragged(*parts: list[float]) -> Column:
    """A column of items of different sizes."""
    joined = torch.tensor([x for part in parts for x in part])
    return Column(joined, 0, torch.tensor([len(part) for part in parts]))


def items_of(column: Column) -> list[Any]:
    """The items of a column that has values."""
    if column.axis is None:
        return column.values.tolist()
    return [part.tolist() for part in column.values.split(column.sizes.tolist())]


PARTS = [[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]]
COLUMNS = {"dense": (Column(torch.tensor([7, 8, 9, 6])), [7, 8, 9, 6]),
           "ragged": (ragged(*PARTS), PARTS)}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_gives_what_a_list_gives(name: str) -> None:
    column, items = COLUMNS[name]
    assert [column.at(n).tolist() for n in range(4)] == items
    assert [column.at(torch.tensor(n)).tolist() for n in (3, 0)] == [items[3], items[0]]
    assert items_of(column.take(torch.tensor([2, 0, 0, 3]))) == [items[n] for n in (2, 0, 0, 3)]
    for part in (slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1)):
        assert items_of(column.part(part)) == items[part]
    assert items_of(column.joined_with(column)) == items + items
    row = torch.as_tensor(items[2])
    assert items_of(column.with_row(row)) == [*items, items[2]]
    assert items_of(column.with_row(row, first=True)) == [items[2], *items]
    written = [items[0], items[2], items[2], items[3]]
    assert items_of(column.with_row_at(torch.tensor(1), row)) == written
    assert items_of(column.empty()) == []


def test_equal_sizes_become_different_ones() -> None:
    rows = Column(torch.arange(12).reshape(3, 2, 2))
    for axis in (0, 1):
        found = rows.as_ragged(axis)
        assert [found.at(n).tolist() for n in range(3)] == rows.values.tolist()


@pytest.mark.parametrize(
    "item", [5, (1, (2, 3)), {"b": 1, "a": (2,)}, Box((1, 2), 3), Hit(1, {"x": 2})]
)
def test_the_form_of_an_item(item: Any) -> None:
    form = ItemForm.of(item)
    leaves = form.leaves(item)
    assert len(form.paths()) == len(set(form.paths())) == len(leaves)
    again = form.build(iter(leaves))
    assert again == item
    assert type(again) is type(item)


def test_a_list_has_rows_and_items_of_python_under_all_its_names() -> None:
    """The store reads what it holds, compares it, and puts it back."""
    items: Any = List([1, 2])
    other, place = items, Items(items)
    with opened(Store()) as store:
        assert store is not None
        with store.side(lambda: items) as side:
            written(items, Rows.of_tensor(torch.arange(3)))
            assert type(other) is Rows
            assert other.length == 3
            rows = place.read()
            items.append(7)
            assert not place.is_same(rows, place.read())
            side.end()
        assert (type(other), other) == (List, [1, 2])
        (write,) = side.writes
        assert write.after.whole("the test").tolist() == [0, 1, 2, 7]
        write.place.put(rows)
        assert other.whole("the test").tolist() == [0, 1, 2]
        place.put([3])
        assert other == [3]


def test_a_list_of_others_gets_no_rows() -> None:
    items = [1]
    with pytest.raises(CannotRewriteError, match=r"a list from outside of `forward`"):
        written(items, Rows.of_tensor(torch.arange(3)))
    assert items == [1]


def test_changes_of_a_list_of_tuples() -> None:
    like = (torch.tensor([1, 2]), 3)
    form = ItemForm.of(like)
    columns = [Column(torch.zeros(1, 2, dtype=torch.int64)), Column(torch.zeros(1).long())]
    made = Rows(columns_of([like], form, columns), form)
    for n in (5, 4, 6):
        made.append((torch.tensor([n, n]), n))
    made.reverse()
    assert made.order(reverse=False) is None
    assert made.columns[1].values.tolist() == [6, 4, 5, 3]
    pairs, numbers = made.by_parts()
    assert numbers.place_of_value(5) == 2
    assert pairs.at(2).tolist() == [5, 5]
    assert numbers.pop(0) == 6
    numbers[0] = 7
    assert numbers.columns[0].values.tolist() == [7, 5, 3]
    assert bool(numbers.equal_to(7).any())
    assert not bool(numbers.equal_to(4).any())


PROGRAMS: Table = {}
REFUSED: Table = {}
program, refused = map(adding_to, (PROGRAMS, REFUSED))


@program
def parts_of_different_sizes(x):
    parts = []
    for row in x:
        parts.insert(0, row[row > 0])
    parts.append(x[:, 0])
    last = parts.pop()
    parts.append(last * 2)
    parts[-1] = x.sum(0)
    return torch.cat(parts[::-1]), torch.cat(parts[1:] + parts), last, len(parts)


@program
def tuples_with_parts_of_different_sizes(x):
    found, total = [], x.sum() * 0
    for row in x:
        found.append((row[row > 0], row.sum()))
    for part, score in found:
        total = total * 0.5 + part.sum() * score
    found.append((x[:, 0], x.sum()))
    return total, torch.cat([part for part, _ in found]), torch.stack([s for _, s in found])


@program
def dataclasses_of_tensors(x):
    hits = [Hit(x.sum(0), x.sum())]
    for row in x:
        if row.sum() > 0:
            hits.append(Hit(row, row.sum()))
    best = max(hits, key=lambda hit: hit.score)
    hits[0] = Hit(best.row * 2, best.score)
    return torch.stack([hit.row for hit in hits]), best.score


@program
def beams_of_tuples(x):
    beams = [(x.sum() * 0, x.new_zeros(1))]
    for row in x:
        candidates = []
        for score, path in beams:
            for k in range(2):
                candidates.append((score + row[k], path + row[k]))
        candidates.sort(key=lambda one: -one[0])
        beams = candidates[:2]
    return beams[0][0], torch.stack([path for _, path in beams])


@refused
def dict_changed_after_it_was_appended(x):
    """OW886"""
    out = []
    for row in x:
        one = {"row": row}
        out.append(one)
        one["row"] = row * 2
    return torch.stack([one["row"] for one in out])


@refused
def dict_changed_after_the_loop(x):
    """OW886"""
    out = []
    for row in x:
        out.append({"row": row})
    out[0]["row"] = x.sum(0)
    return torch.stack([one["row"] for one in out])


@refused
def dataclass_changed_in_a_loop_over_the_list(x):
    """OW886"""
    out = []
    for row in x:
        out.append(Hit(row, row.sum()))
    for hit in out:
        hit.score = hit.score * 2
    return torch.stack([hit.score for hit in out])


@pytest.mark.share(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_of_items_in_every_form(name: str) -> None:
    compare(exported(PROGRAMS[name]), PROGRAMS[name])


@pytest.mark.share(3)
@pytest.mark.parametrize("name", REFUSED)
def test_an_item_that_is_changed_by_itself_is_refused(name: str) -> None:
    with pytest.raises(ExportError, match=REFUSED[name].__doc__):
        exported(REFUSED[name])
