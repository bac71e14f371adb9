"""Lists that a loop only appends to: what an iteration appends is a scan output of the loop.

An iteration begins with an empty list of its own.  After it, the list has the items that it
appended, each with a condition: an item that only one side of a decision appends is there where the
side ran.  Rows of all iterations, one after the other, are the list after the loop.  An iteration
that reads the list needs those of the iterations before: `ListUseError` names the list then, and
the loop carries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxwright.exporter.capture.source.errors import (
    ListUseError,
    LoopChangeError,
    UnevenItemError,
    words,
)
from onnxwright.exporter.capture.source.lists import Rows, as_row
from onnxwright.exporter.capture.source.run_time_lists import Parts, RunTimeList, misused
from onnxwright.exporter.capture.source.tuple_lists import (
    TupleList,
    begin_rows,
    is_alike,
    is_record,
    parts_of,
    tuple_like,
)


@dataclass(eq=False)
class Appending:
    """A list that one loop only appends to.

    Fields:
        owner: the list of Python; None where it is one of run-time length before the loop.
        head: the items before the loop.
        sample: tensors of the types and sizes of an item.
    """

    owner: list[Any] | None
    head: Any
    sample: Any

    def begin(self) -> Appended:
        """The list of an iteration, empty at first."""
        made = Appended(self, (), first=None)
        if isinstance(self.head, RunTimeList):
            made.identity = self.head.identity
        return made


@dataclass(frozen=True)
class Added:
    """What an iteration appends.

    Fields:
        value: an item: a tensor, or a tuple or dict of tensors; of a block, rows of such.
        condition: whether it is appended; True, or a tensor.
        is_block: whether it is several items, as rows.
    """

    value: Any
    condition: Any
    is_block: bool = False


class Appended(RunTimeList):
    """What an iteration appended to a list so far.

    Args:
        loop_list: the list in the loop.
        added: what was appended, in order.
        first: whether items are inserted as the first ones; None before there is one.
    """

    def __init__(self, loop_list: Appending, added: Sequence[Added], first: bool | None) -> None:
        inside = loop_list.sample
        while is_record(inside):
            inside = parts_of(inside, inside)[0]
        super().__init__(None, inside)
        self.loop_list, self.added, self.first = loop_list, tuple(added), first

    def misuse(self, use: str) -> ListUseError:
        """The error for a use that reads the list: the loop has to carry it."""
        error = misused(use)
        error.loop_list = self.loop_list
        return error

    @property
    def length(self) -> Any:
        """How many items there are: only known after the loop."""
        raise self.misuse("len")

    @length.setter
    def length(self, _: Any) -> None:
        """Nothing: it is not known."""

    def _with(self, added: Added, first: bool) -> Appended:
        if self.first not in (None, first):
            raise self.misuse(".insert" if first else ".append")
        return Appended(self.loop_list, (*self.added, added), first)

    def parts(self) -> Parts:
        """The items, each with its condition."""
        names = [f"{name} {n}" for n in range(len(self.added)) for name in (" item", " condition")]
        values = [v for one in self.added for v in (one.value, one.condition)]

        def made(parts: list[Any]) -> Appended:
            pairs = zip(parts[::2], parts[1::2], self.added)
            items = [Added(value, condition, one.is_block) for value, condition, one in pairs]
            return Appended(self.loop_list, items, self.first)

        return names, values, made

    def merged_with(self, other: Appended, missing: Any) -> Appended:
        """The list with a place for each item of another side; `missing` where it has none."""
        mine, others = self.added, other.added
        if self.loop_list is not other.loop_list or (
            None not in (self.first, other.first) and (self.first is not other.first)
        ):
            raise self.misuse(".insert")
        if any(a.is_block or b.is_block for a, b in zip(mine, others) if a is not b):
            raise self.misuse(".extend")
        more = [Added(missing, False, one.is_block) for one in others[len(mine) :]]
        if any(one.is_block for one in (*more, *mine[len(others) :])):
            raise self.misuse(".extend")
        first = self.first if other.first is None else other.first
        made = Appended(self.loop_list, (*mine, *more), first)
        made.identity = self.identity
        return made

    def sample(self) -> Any:
        """Tensors of the types and sizes of an item."""
        return self.loop_list.sample

    def with_item(self, item: Any, first: bool = False) -> Appended:
        """The list with another item at its end, or as the first."""
        return self._with(Added(self._row(item, self.loop_list.sample), True), first)

    def _row(self, item: Any, sample: Any) -> Any:
        """An item as tensors of the types and sizes of a sample."""
        if is_record(sample):
            if not is_alike(item, sample):
                raise LoopChangeError("an item of the list", words(sample), words(item))
            pairs = zip(parts_of(item, sample), parts_of(sample, sample))
            return tuple_like(sample, [self._row(part, like) for part, like in pairs])
        row = as_row(item)
        if row.dtype != sample.dtype or row.ndim != sample.ndim:
            raise LoopChangeError("an item of the list", words(sample), words(row))
        self._check_sizes(row, row.shape, sample)
        return row

    def _check_sizes(self, row: torch.Tensor, sizes: Sequence[Any], sample: torch.Tensor) -> None:
        """Refuse an item that is not known to have the sizes of the others."""
        with disable_proxy_modes_tracing():
            pairs = enumerate(zip(sizes, sample.shape))
            dims = [n for n, (a, b) in pairs if not statically_known_true(a == b)]
        if dims:
            raise UnevenItemError(words(sample), words(row), self, dims)

    def joined_with(self, other: RunTimeList) -> Appended:
        """The list, and the items of another one."""
        rows = columns_of(other)
        if rows is None or self.first:
            raise self.misuse(".extend")
        return self._with(Added(self._block(rows, self.loop_list.sample), True, True), False)

    def _block(self, rows: Any, sample: Any) -> Any:
        """Rows of items of the types and sizes of a sample."""
        if is_record(sample):
            if not is_alike(rows, sample):
                raise LoopChangeError("an item of the list", words(sample), words(rows))
            pairs = zip(parts_of(rows, sample), parts_of(sample, sample))
            return tuple_like(sample, [self._block(part, like) for part, like in pairs])
        if not isinstance(rows, torch.Tensor) or rows.dtype != sample.dtype:
            raise LoopChangeError("an item of the list", words(sample), words(rows))
        if rows.ndim != sample.ndim + 1:
            raise LoopChangeError("an item of the list", words(sample), words(rows))
        self._check_sizes(rows, rows.shape[1:], sample)
        return rows

    def after(self, items: Sequence[Any]) -> Appended:
        """A list of items of Python, and these."""
        found = self
        for item in reversed(items):
            found = found.with_item(item, first=True)
        return found

    def at(self, place: Any) -> Any:
        """The item at a place: one of an iteration before."""
        raise self.misuse("[...]")

    def copied(self, use: str) -> Appended:
        """Another list of the same items."""
        raise self.misuse(use)

    def order(self, *, reverse: bool) -> torch.Tensor | None:
        """The places of the items in their order."""
        raise self.misuse("sorted")

    def numbers(self) -> torch.Tensor | None:
        """The items as a tensor of one axis."""
        raise self.misuse("[...]")

    def __getitem__(self, index: Any) -> Any:
        raise self.misuse("[...]")

    def results(self) -> list[Any]:
        """What an iteration gives for the list: the tensors of its items and the conditions."""
        found = [leaf for one in self.added for leaf in leaves_of_record(one.value)]
        return found + [one.condition for one in self.added if one.condition is not True]

    def after_loop(self, results: Sequence[torch.Tensor]) -> Any:
        """The list after the loop.

        Args:
            results: for each of `results`, the rows of all iterations.
        """
        given = iter(results)
        sample = self.loop_list.sample
        values = [[next(given) for _ in leaves_of_record(sample)] for _ in self.added]
        conditions = [True if one.condition is True else next(given) for one in self.added]
        columns = [self._column(rows) for rows in zip(*values)]
        if any(condition is not True for condition in conditions):
            places = self._kept(conditions, values).nonzero().squeeze(1)
            columns = [column.index_select(0, places) for column in columns]
        if self.first:
            columns = [column.flip(0) for column in columns]
        made = rows_of_columns(sample, iter(columns))
        head = self.loop_list.head
        if isinstance(head, RunTimeList):
            return made.joined_with(head) if self.first else head.joined_with(made)
        if not head:
            return made
        begun = begin_rows(head, sample)
        return made.joined_with(begun) if self.first else begun.joined_with(made)

    def columns(self, made: Any, items: Sequence[Any]) -> list[tuple[torch.Tensor, list[Any]]]:
        """The tensors of the list after the loop, each with what is known of its items.

        Args:
            made: the list after the loop.
            items: for each of `results`, what is known of it.
        """
        rows = made.added[-1].value if isinstance(made, Appended) else columns_of(made)
        width = len(leaves_of_record(self.loop_list.sample))
        every = list(items[: width * len(self.added)])
        return [(column, every[n::width]) for n, column in enumerate(leaves_of_record(rows))]

    def _column(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """The rows that all iterations append in one place of the items."""
        if len(rows) == 1 and not self.added[0].is_block:
            return rows[0]
        pairs = zip(rows, self.added)
        blocks = [one if added.is_block else one.unsqueeze(1) for one, added in pairs]
        return (blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1)).flatten(0, 1)

    def _kept(self, conditions: Sequence[Any], values: Sequence[Sequence[torch.Tensor]]) -> Any:
        """For each row whether it was appended."""
        made = []
        for condition, rows, added in zip(conditions, values, self.added):
            count = rows[0].shape[1] if added.is_block else 1
            if condition is True:
                made.append(torch.ones([rows[0].shape[0], count], dtype=torch.bool))
            else:
                made.append(condition.reshape(-1, 1).expand(-1, count))
        return (made[0] if len(made) == 1 else torch.cat(made, 1)).flatten()


def leaves_of_record(value: Any) -> list[Any]:
    """The tensors of an item."""
    if not is_record(value):
        return [value]
    return [leaf for part in parts_of(value, value) for leaf in leaves_of_record(part)]


def rows_of_columns(sample: Any, columns: Iterator[torch.Tensor]) -> RunTimeList:
    """A list of the rows of tensors, one for each tensor of an item."""
    if not is_record(sample):
        rows = next(columns)
        return Rows(rows, rows.shape[0])
    parts = [rows_of_columns(part, columns) for part in parts_of(sample, sample)]
    return TupleList(parts, sample)


def columns_of(items: RunTimeList) -> Any:
    """The rows of a list, in a tuple or dict as its items are; None for lists of other forms."""
    if isinstance(items, Rows):
        return items.rows
    if not isinstance(items, TupleList):
        return None
    columns = [columns_of(column) for column in items.columns]
    return None if any(c is None for c in columns) else tuple_like(items.like, columns)


def lists_in(value: Any) -> list[Appending]:
    """The lists that a loop appends to and that a value is, or has in it."""
    if isinstance(value, Appended):
        return [value.loop_list]
    if type(value) not in (list, tuple, dict):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [one for part in parts for one in lists_in(part)]
