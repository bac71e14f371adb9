"""Lists of tuples or dicts that loops add to: a list of rows for each place or key.

`pairs.append((i, j))` in a loop of the model adds a row to each.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.errors import LoopChangeError, words
from onnxwright.exporter.capture.source.lists import Rows, row_like, rows_of
from onnxwright.exporter.capture.source.run_time_lists import Parts, RunTimeList, as_place, misused

Record = tuple[Any, ...] | dict[str, Any]


class TupleList(RunTimeList):
    """A list whose items are tuples, or dicts of the same keys, of tensors and numbers.

    Args:
        columns: for each place of a tuple or key of a dict, what the items have there.
        like: a tuple or dict of the same kind.
    """

    def __init__(self, columns: Sequence[RunTimeList], like: Record) -> None:
        super().__init__(columns[0].length, list.__getitem__(columns[0], 0))
        self.columns, self.like = list(columns), like

    def parts(self) -> Parts:
        """The columns."""
        names, like = [f" in place {n}" for n in range(len(self.columns))], self.like
        return names, list(self.columns), lambda v: TupleList(v, like)

    def _of(self, columns: Sequence[RunTimeList]) -> TupleList:
        return TupleList(columns, self.like)

    def _tuple(self, values: Sequence[Any]) -> Record:
        made: Record = tuple_like(self.like, values)
        return made

    def _parts(self, item: Any) -> tuple[Any, ...]:
        """The parts of an item that is added."""
        if not is_alike(item, self.like):
            raise LoopChangeError("an item of the list", words(self.like), words(item))
        return parts_of(item, self.like)

    def sample(self) -> Any:
        """Tensors of the types and sizes of an item."""
        return self._tuple([column.sample() for column in self.columns])

    def copied(self, use: str) -> TupleList:
        """Another list of the same items."""
        return self._of([column.copied(use) for column in self.columns])

    def chosen(self, places: torch.Tensor) -> TupleList:
        """A list of the items at places of run time."""
        return self._of([column.chosen(places) for column in self.columns])

    def equal_to(self, value: Any) -> torch.Tensor:
        """For each item whether its parts are equal to those of a tuple."""
        pairs = zip(self.columns, self._parts(value))
        return functools.reduce(operator.and_, (column.equal_to(part) for column, part in pairs))

    def in_order(self, order: torch.Tensor) -> TupleList:
        """The items at places of run time."""
        return self._of([column.in_order(order) for column in self.columns])

    def order(self, *, reverse: bool) -> torch.Tensor | None:
        """The places in the order of the first parts, of equal ones that of the second, and on."""
        if isinstance(self.like, dict):
            raise misused("sort")
        found: torch.Tensor | None = None
        for column in reversed(self.columns):
            part = column if found is None else column.in_order(found)
            places = part.order(reverse=reverse)
            if places is None:
                return None
            found = places if found is None else found.index_select(0, places)
        return found

    def with_item(self, item: Any, first: bool = False) -> TupleList:
        """The list with another item at its end, or as the first."""
        pairs = zip(self.columns, self._parts(item))
        return self._of([column.with_item(part, first) for column, part in pairs])

    def with_item_at(self, index: Any, item: Any) -> TupleList:
        """The list with another item at a place."""
        pairs = zip(self.columns, self._parts(item))
        return self._of([column.with_item_at(index, part) for column, part in pairs])

    def restarted(self, items: Sequence[Any]) -> TupleList:
        """A list of other items."""
        return self._of([c.restarted(part) for c, part in zip(self.columns, self._split(items))])

    def _split(self, items: Sequence[Any]) -> list[list[Any]]:
        """What items have at each place."""
        rows = [self._parts(item) for item in items]
        return [[row[n] for row in rows] for n in range(len(self.columns))]

    def without_item(self, index: Any = -1) -> tuple[RunTimeList, Any]:
        """The list without an item, and the item."""
        if not isinstance(index, int):
            return self.without_place(as_place(index))
        found = [column.without_item(index) for column in self.columns]
        return self._of([rest for rest, _ in found]), self._tuple([part for _, part in found])

    def joined_with(self, other: RunTimeList) -> TupleList:
        """The list, and the items of another one."""
        if not isinstance(other, TupleList):
            raise misused("+")
        if not is_alike(other.like, self.like):
            raise LoopChangeError("an item of the list", words(self.like), words(other.like))
        pairs = zip(self.columns, parts_of(tuple_like(other.like, other.columns), self.like))
        return self._of([one.joined_with(more) for one, more in pairs])

    def after(self, items: Sequence[Any]) -> TupleList:
        """A list of items of Python, and these."""
        pairs = zip(self.columns, self._split(items))
        return self._of([column.__radd__(part) for column, part in pairs])

    def at(self, place: Any) -> Record:
        """The item at a place of run time."""
        return self._tuple([column[place] for column in self.columns])

    def __getitem__(self, index: Any) -> Any:
        found = [column[index] for column in self.columns]
        return self._of(found) if isinstance(index, slice) else self._tuple(found)

    def as_tensor(self, **options: Any) -> torch.Tensor:
        """`torch.tensor(items)` of numbers: a row for each tuple."""
        made = []
        for column in self.columns:
            nested = isinstance(column, TupleList)
            part = column.as_tensor() if nested else column.numbers()
            if part is None:
                raise misused("torch.tensor")
            made.append(part)
        dtype = functools.reduce(torch.promote_types, (column.dtype for column in made))
        return torch.stack([column.to(options.get("dtype") or dtype) for column in made], 1)


def is_record(item: Any) -> bool:
    """Whether an item has parts: a tuple that is not empty, or a dict of texts."""
    if type(item) is dict:
        return bool(item) and all(isinstance(key, str) for key in item)
    return isinstance(item, tuple) and bool(item)


def is_alike(item: Any, like: Record) -> bool:
    """Whether an item has the places or the keys of another."""
    if isinstance(like, dict):
        return type(item) is dict and item.keys() == like.keys()
    return isinstance(item, tuple) and len(item) == len(like)


def parts_of(item: Record, like: Record) -> tuple[Any, ...]:
    """The parts of an item.

    Args:
        item: a tuple, or a dict of the same keys as `like`.
        like: a dict whose order of keys counts.
    """
    return tuple(item[key] for key in like) if isinstance(item, dict) else item


def tuple_like(like: Record, values: Sequence[Any]) -> Any:
    """Values in a tuple or dict of the same kind as another; a tuple may have names."""
    if isinstance(like, dict):
        return dict(zip(like, values))
    return type(like)(*values) if hasattr(like, "_fields") else tuple(values)


def sample_of(item: Any) -> Any:
    """A tensor of the type and sizes of an item of a list; of each part of a tuple or dict."""
    if is_record(item):
        return tuple_like(item, [sample_of(part) for part in parts_of(item, item)])
    return row_like(item)


def begin_rows(head: Sequence[Any], sample: Any) -> RunTimeList:
    """A list of rows, in each of its columns if the items are tuples or dicts.

    Args:
        head: the items that it has.
        sample: an item that is added, as of `sample_of`.
    """
    if not is_record(sample):
        rows = rows_of(head, sample)
        return Rows(rows, rows.shape[0])
    for item in head:
        if not is_alike(item, sample):
            raise LoopChangeError("an item of the list", words(item), words(sample))
    parts = [parts_of(item, sample) for item in head]
    columns = [
        begin_rows([part[n] for part in parts], one)
        for n, one in enumerate(parts_of(sample, sample))
    ]
    return TupleList(columns, sample)
