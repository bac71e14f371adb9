"""Lists whose number of items is known at run time only: rows of one tensor.

`torch.stack` and `torch.cat` of such a list, its items, its length, loops and comprehensions over
it are those of the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true
from torch.utils._python_dispatch import _disable_current_modes

from onnxwright.exporter.capture.source.errors import (
    DisagreementError,
    LoopChangeError,
    UnevenItemError,
    words,
)
from onnxwright.exporter.capture.source.regions import SYMBOLS, depth, empty
from onnxwright.exporter.capture.source.run_time_lists import (
    Parts,
    RunTimeList,
    as_place,
    changed,
    misused,
)


class Rows(RunTimeList):
    """A list whose items are the rows of a tensor.

    Args:
        rows: the items, one after the other.
        length: how many there are; a number, a symbolic one or a tensor.
    """

    def __init__(self, rows: Any, length: Any) -> None:
        super().__init__(length, rows)
        self.rows = rows

    def parts(self) -> Parts:
        """The rows."""
        return [".rows"], [self.rows], lambda v: Rows(v[0], v[0].shape[0])

    def with_item(self, item: Any, first: bool = False) -> Rows:
        """The list with another item at its end, or as the first."""
        row = as_row(item)
        if row.dtype != self.rows.dtype or row.ndim != self.rows.ndim - 1:
            raise LoopChangeError("an item of the list", words(self.sample()), words(row))
        self._check_sizes(row)
        both = [row[None], self.rows] if first else [self.rows, row[None]]
        return Rows(torch.cat(both), self.length + 1)

    def _check_sizes(self, row: torch.Tensor) -> None:
        """Refuse an item that is not known to have the sizes of the others."""
        pairs = enumerate(zip(row.shape, self.rows.shape[1:]))
        with disable_proxy_modes_tracing():
            dims = [n for n, (a, b) in pairs if not statically_known_true(a == b)]
        if dims:
            raise UnevenItemError(words(self.sample()), words(row), self, dims)

    def with_item_at(self, index: Any, item: Any) -> Rows:
        """The list with another item at a place."""
        if isinstance(index, slice):
            raise misused("[...]")
        row = as_row(item)
        if row.ndim != self.rows.ndim - 1:
            raise LoopChangeError("an item of the list", words(self.sample()), words(row))
        self._check_sizes(row)
        rows = self.rows.index_put(
            (place_of(index, self.length).reshape(1),), row[None].to(self.rows.dtype)
        )
        return Rows(rows, self.length)

    def restarted(self, items: Sequence[Any]) -> Rows:
        """A list of other items."""
        return Rows(rows := rows_of(items, self.sample()), rows.shape[0])

    def without_item(self, index: Any = -1) -> tuple[RunTimeList, Any]:
        """The list without an item, and the item."""
        if not isinstance(index, int):
            return self.without_place(as_place(index))
        rows = self._rows_without(index)
        return Rows(rows, rows.shape[0]), self.rows[index]

    def _rows_without(self, index: int) -> torch.Tensor:
        return torch.cat([self.rows[:index]] + ([self.rows[index + 1 :]] if index != -1 else []))

    def whole(self, use: str) -> torch.Tensor:
        """The rows."""
        rows: torch.Tensor = self.rows
        return rows

    def numbers(self) -> torch.Tensor | None:
        """The rows, if they are numbers."""
        return self.rows if self.rows.ndim == 1 else None

    def order(self, *, reverse: bool) -> torch.Tensor | None:
        """The places of the numbers in their order."""
        numbers = self.numbers()
        if numbers is None:
            return None
        return numbers.sort(stable=True, descending=reverse).indices

    def stacked(self, dim: int = 0) -> torch.Tensor:
        """The rows, along another axis."""
        return self.whole("stack").movedim(0, dim)

    def joined(self, dim: int = 0) -> torch.Tensor:
        """The items, one after the other along an axis of theirs."""
        rows = self.whole("cat")
        dim = dim % (rows.ndim - 1)
        return rows.movedim(0, dim).flatten(dim, dim + 1)

    def as_tensor(self, **options: Any) -> torch.Tensor:
        """`torch.tensor(items)`."""
        rows = self.whole("tensor")
        return rows.to(options.get("dtype") or rows.dtype)

    def copied(self, use: str) -> Rows:
        """Another list of the same items."""
        return Rows(self.whole(use), self.length)

    def chosen(self, places: torch.Tensor) -> Rows:
        """A list of the items at places of run time."""
        rows = self.rows.index_select(0, places)
        return Rows(rows, rows.shape[0])

    def equal_to(self, value: Any) -> torch.Tensor:
        """For each number whether it is equal to another one."""
        if self.rows.ndim != 1:
            raise misused("in")
        same: torch.Tensor = self.rows == (as_row(value) if isinstance(value, SYMBOLS) else value)
        return same

    def in_order(self, order: torch.Tensor) -> Rows:
        """The items at places of run time."""
        return Rows(self.rows.index_select(0, order), self.length)

    def sample(self) -> torch.Tensor:
        """A tensor of the type and sizes of an item."""
        return empty(self.rows.shape[1:], self.rows.dtype)

    def joined_with(self, other: RunTimeList) -> Rows:
        """The list, and the items of another one."""
        return self._joined(self.rows, other)

    def after(self, items: Sequence[Any]) -> Rows:
        """A list of items of Python, and these."""
        before = rows_of(items, self.sample())
        return Rows(torch.cat([before, self.whole("extend")]), len(items) + self.length)

    def __radd__(self, items: Any) -> Rows:
        return self._joined(rows_of(items, self.sample()), self)

    def _joined(self, rows: torch.Tensor, other: RunTimeList) -> Rows:
        """The list of rows, and those of another one."""
        both = torch.cat([rows, other.whole("+")])
        return Rows(both, both.shape[0])

    def at(self, place: Any) -> torch.Tensor:
        """The item at a place of run time."""
        found: torch.Tensor = self.rows[place]
        return found

    def __getitem__(self, index: Any) -> Any:
        if (
            isinstance(index, slice)
            and index.step == -1
            and (index.start, index.stop) == (None,) * 2
        ):
            return Rows(self.rows.flip(0), self.length)
        if isinstance(index, int) and depth() and free_unbacked_symbols(self.rows.shape[0]):
            return self.rows.index_select(0, place_of(index, self.length).reshape(1)).squeeze(0)
        rows = self.rows[index]
        return Rows(rows, rows.shape[0]) if isinstance(index, slice) else rows


def part_of(items: Sequence[Any], part: slice) -> Rows | None:
    """`items[a:b]` of a list of Python, with bounds that are known at run time.

    Args:
        items: tensors of one type and of equal sizes, or numbers.
        part: the slice.

    Returns:
        The list; None for other items.
    """
    if not items or not all(
        isinstance(x, (torch.Tensor, bool, int, float, *SYMBOLS)) for x in items
    ):
        return None
    rows = [as_row(item) for item in items]
    if any(row.dtype != rows[0].dtype or row.shape != rows[0].shape for row in rows):
        return None
    found: Rows = Rows(torch.stack(rows), len(rows))[part]
    return found


def place_of(index: Any, length: Any) -> torch.Tensor:
    """A place in a list as a tensor, counted from the start.

    Args:
        index: as Python has it.
        length: of the list.
    """
    return as_place(length + index if isinstance(index, int) and index < 0 else index)


def as_row(item: Any) -> torch.Tensor:
    """An item of a list as a tensor."""
    if isinstance(item, torch.Tensor):
        return item
    if isinstance(item, (bool, int, float)):
        return torch.full((), item)
    if isinstance(item, (torch.SymInt, torch.SymFloat)):
        return torch.scalar_tensor(item, dtype=_dtype_of(item))
    raise LoopChangeError("an item of the list", "a tensor", words(item))


def row_like(item: Any) -> torch.Tensor:
    """A tensor of the type and sizes of `as_row(item)`, also where the item is traced no more."""
    symbolic = isinstance(item, (torch.SymInt, torch.SymFloat))
    return empty((), _dtype_of(item)) if symbolic else as_row(item)


def _dtype_of(number: Any) -> torch.dtype:
    """The type of a tensor of a symbolic number."""
    whole = isinstance(number, torch.SymInt)
    return torch.int64 if whole else torch.get_default_dtype()


class OtherName(torch.Tensor):  # type: ignore[misc]
    """The only item of a list that grew in a loop under another name."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise misused("another name of it")


def close_other_names(items: list[Any]) -> None:
    """Empty the list of Python: other names of it would not see the rows."""
    items[:] = closed_items()


def closed_items() -> list[Any]:
    """What a list has whose items nobody may read."""
    with _disable_current_modes():
        return [torch.empty(0).as_subclass(OtherName)]


def length_of(items: Any) -> Any:
    """`len(items)`."""
    if isinstance(items, RunTimeList):
        return items.length
    if type(items) is list and len(items) == 1 and isinstance(items[0], OtherName):
        raise misused("another name of it")
    if isinstance(items, torch.Tensor) and items.ndim:
        return items.shape[0]  # `len` must be a number of Python
    return len(items)


def append(items: Any, item: Any) -> Any:
    """`items.append(item)`; gives the list."""
    if isinstance(items, RunTimeList):
        return changed(items, items.with_item(item))
    items.append(item)
    return items


def extend(items: Any, others: Any) -> Any:
    """`items.extend(others)`, of a list of Python or one of rows; gives the list."""
    if isinstance(items, RunTimeList):
        return changed(items, items.with_items(others))
    if isinstance(others, RunTimeList):
        return others.after(items)
    items.extend(others)
    return items


def insert(items: Any, place: Any, item: Any) -> Any:
    """`items.insert(place, item)`; gives the list."""
    if isinstance(items, RunTimeList):
        return changed(items, items.with_item_before(place, item))
    items.insert(place, item)
    return items


def reversed_in_place(items: Any) -> Any:
    """`items.reverse()`; gives the list."""
    if isinstance(items, RunTimeList):
        return changed(items, items.backwards())
    items.reverse()
    return items


def cleared(items: Any) -> Any:
    """`items.clear()`; gives the list."""
    if isinstance(items, RunTimeList):
        return changed(items, items.restarted(()))
    items.clear()
    return items


def rows_kept(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """What variables are after a side or an iteration; new lists as rows, if there were rows.

    Args:
        before, after: the values of the variables.
    """
    return [
        old.restarted(new) if isinstance(old, RunTimeList) and type(new) is list else new
        for old, new in zip(before, after)
    ]


def raise_growth(owner: Any, one: Any, two: Any, name: str) -> None:
    """Raise a disagreement if a list has more items on one side.

    Args:
        owner: the list; anything else for other slots.
        one, two: its items on both sides.
        name: what the user calls it.
    """
    if type(owner) is not list or not isinstance(one, list) or not isinstance(two, list):
        return
    grown = [x for x in (one, two) if isinstance(x, RunTimeList)]
    if len(grown) == 1:
        error = DisagreementError(name, words(one), words(two))
        error.grows = (owner, [grown[0].sample()])
        raise error
    if grown or len(one) == len(two):
        return
    short, long = sorted((one, two), key=len)
    more = len(long) - len(short)
    error = DisagreementError(name, words(one), words(two))
    if all(a is b for a, b in zip(short, long)):
        error.grows = (owner, long[len(short) :])
        raise error
    error.grows, error.first = (owner, long[len(short) :]), False
    if all(a is b for a, b in zip(short, long[more:])):
        error.grows, error.first = (owner, long[:more]), True
    raise error


def rows_of(items: Rows | Sequence[Any], sample: torch.Tensor) -> torch.Tensor:
    """The items of a list as rows of one tensor.

    Args:
        items: the items.
        sample: an item of their type and sizes.
    """
    if isinstance(items, Rows):
        return items.whole("[...]")
    rows = [as_row(item) for item in items]
    for row in rows:
        if row.dtype != sample.dtype or row.ndim != sample.ndim:
            raise LoopChangeError("an item of the list", words(row), words(sample))
    return torch.stack(rows) if rows else torch.zeros([0, *sample.shape], dtype=sample.dtype)
