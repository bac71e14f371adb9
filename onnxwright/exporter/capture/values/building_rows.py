"""Lists that a loop only appends to: `Rows` in the making, a scan output of the loop.

An iteration begins with an empty list of its own.  After it, the list has the items that it
appended, each with a condition: an item that only one side of a decision appends is there where the
side ran.  Rows of all iterations, one after the other, are the list after the loop.  An iteration
that reads the list needs those of the iterations before: `ListUseError` names the list then, and
the loop carries it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from onnxwright.exporter.capture.session.errors import ListUseError, UnevenItemError, words
from onnxwright.exporter.capture.values.columns import Column
from onnxwright.exporter.capture.values.list_writes import misused
from onnxwright.exporter.capture.values.rows import Parts, Rows


@dataclass(eq=False)
class LoopList:
    """A list that one loop only appends to.

    Fields:
        head: the items before the loop.
        like: a list of such items.
    """

    head: Any
    like: Rows

    def begin(self) -> BuildingRows:
        """The list of an iteration, empty at first."""
        return BuildingRows(self, (), first=None)


@dataclass(frozen=True)
class Added:
    """What an iteration appends.

    Fields:
        leaves: those of an item; of a block, rows of such.
        condition: whether it is appended; True, or a tensor.
        is_block: whether it is several items, as rows.
    """

    leaves: tuple[Any, ...]
    condition: Any = True
    is_block: bool = False


class BuildingRows(Rows):
    """What an iteration appended to a list so far; all else reads the list, which is refused.

    Args:
        added: what was appended, in order.
        first: whether items are inserted as the first ones; None before there is one.
    """

    def __init__(self, loop_list: LoopList, added: Sequence[Added], first: bool | None) -> None:
        like = loop_list.like
        super().__init__(like.columns, like.form)
        self.loop_list, self.added, self.first = loop_list, tuple(added), first

    def misuse(self, use: str) -> ListUseError:
        """The error for a use that reads the list: the loop has to carry it."""
        error = misused(use)
        error.loop_list = self.loop_list
        return error

    @property
    def _forms(self) -> tuple[Column, ...]:
        return self.loop_list.like.columns

    @property
    def columns(self) -> tuple[Column, ...]:
        """Nothing: only known after the loop."""
        raise self.misuse("[...]")

    def like(self, axis: int | None = None) -> Rows:
        """A list of such items, of which only the types and sizes are known."""
        return self.loop_list.like.like(axis)

    def sample(self) -> Any:
        """An item of tensors without values, which no trace knows."""
        return self.loop_list.like.sample()

    def parts(self) -> Parts:
        """The items, each with its condition."""
        names = [
            f" item {n}{path}" for n in range(len(self.added))
            for path in [*self.form.paths(), " condition"]
        ]  # fmt: skip
        values = [value for one in self.added for value in (*one.leaves, one.condition)]
        width = len(self.form.paths()) + 1

        def make_rows(parts: list[Any]) -> BuildingRows:
            items = [tuple(parts[n : n + width]) for n in range(0, len(parts), width)]
            pairs = zip(items, self.added)
            added = [replace(one, leaves=v[:-1], condition=v[-1]) for v, one in pairs]
            return BuildingRows(self.loop_list, added, self.first)

        return names, values, make_rows

    def merged_with(self, other: BuildingRows, missing: Any) -> BuildingRows:
        """The list with a place for each item of another side; `missing` where it has none."""
        mine, others = self.added, other.added
        if self.loop_list is not other.loop_list or (
            None not in (self.first, other.first) and (self.first is not other.first)
        ):
            raise self.misuse(".insert")
        more = [replace(one, leaves=(missing,) * len(one.leaves), condition=False)
                for one in others[len(mine) :]]  # fmt: skip
        differ = [one for a, b in zip(mine, others) if a is not b for one in (a, b)]
        if any(one.is_block for one in (*differ, *more, *mine[len(others) :])):
            raise self.misuse(".extend")
        first = self.first if other.first is None else other.first
        return BuildingRows(self.loop_list, (*mine, *more), first)

    def _with(self, added: Added, first: bool) -> BuildingRows:
        if self.first not in (None, first):
            raise self.misuse(".insert" if first else ".append")
        return BuildingRows(self.loop_list, (*self.added, added), first)

    def with_item(self, item: Any, first: bool = False) -> BuildingRows:
        """The list with another item at its end, or as the first."""
        return self._with(Added(tuple(self.leaves(item))), first)

    def joined_with(self, other: Rows) -> BuildingRows:
        """The list, and the items of another one."""
        block = other.in_form_of(self.loop_list.like)
        if self.first or any(column.axis is not None for column in other.columns):
            raise self.misuse(".extend")
        for column, like in zip(block.columns, self.loop_list.like.columns):
            axes = like.differing_axes(column.sample())
            if axes:
                sides = words(like.sample()), words(column.sample())
                raise UnevenItemError(*sides, self.held(), axes)
        return self._with(Added(tuple(c.values for c in block.columns), is_block=True), False)

    def after(self, items: Sequence[Any]) -> BuildingRows:
        """A list of items of Python, and these."""
        rows = self
        for item in reversed(items):
            rows = rows.with_item(item, first=True)
        return rows

    # -- the loop ----------------------------------------------------------------------------------

    def results(self) -> list[Any]:
        """What an iteration gives for the list: the tensors of its items and the conditions."""
        leaves = [leaf for one in self.added for leaf in one.leaves]
        return leaves + [one.condition for one in self.added if one.condition is not True]

    def after_loop(self, results: Sequence[torch.Tensor]) -> Rows:
        """The list after the loop.

        Args:
            results: for each of `results`, the rows of all iterations.
        """
        remaining_results = iter(results)
        values = [[next(remaining_results) for _ in one.leaves] for one in self.added]
        conditions = [
            True if one.condition is True else next(remaining_results) for one in self.added
        ]
        appended_rows = Rows([Column(self._joined(rows)) for rows in zip(*values)], self.form)
        if any(condition is not True for condition in conditions):
            appended_rows = appended_rows.chosen(
                self._kept(conditions, values).nonzero().squeeze(1)
            )
        if self.first:
            appended_rows = appended_rows[::-1]
        head = self.loop_list.head
        if not isinstance(head, Rows):
            head = self.loop_list.like.restarted(head) if head else None
        if head is None:
            return appended_rows
        return appended_rows.joined_with(head) if self.first else head.joined_with(appended_rows)

    def appended(
        self, list_after: Any, items: Sequence[Any]
    ) -> list[tuple[torch.Tensor, list[Any]]]:
        """The tensors of the list after the loop, each with what is known of its items.

        Args:
            list_after: the list after the loop.
            items: for each of `results`, what is known of it.
        """
        is_carried = isinstance(list_after, BuildingRows)
        tensors = (
            list_after.added[-1].leaves if is_carried else [c.values for c in list_after.columns]
        )
        width = len(tensors)
        every = list(items[: width * len(self.added)])
        return [(tensor, every[n::width]) for n, tensor in enumerate(tensors)]

    def _joined(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """The rows that all iterations append in one leaf of the items."""
        if len(rows) == 1 and not self.added[0].is_block:
            return rows[0]
        pairs = zip(rows, self.added)
        blocks = [one if added.is_block else one.unsqueeze(1) for one, added in pairs]
        return (blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1)).flatten(0, 1)

    def _kept(self, conditions: Sequence[Any], values: Sequence[Sequence[torch.Tensor]]) -> Any:
        """For each row whether it was appended."""
        masks = []
        for condition, rows, added in zip(conditions, values, self.added):
            count = rows[0].shape[1] if added.is_block else 1
            if condition is True:
                masks.append(torch.ones([rows[0].shape[0], count], dtype=torch.bool))
            else:
                masks.append(condition.reshape(-1, 1).expand(-1, count))
        return (masks[0] if len(masks) == 1 else torch.cat(masks, 1)).flatten()
