"""Lists that grow in loops whose number of iterations is known at run time: rows of one tensor.

`out.append(row)` in such a loop writes a row of a tensor that is allocated for every iteration, and
counts.  Afterwards the list is a `Grown`: `torch.stack` and `torch.cat` of it, its items, its
length, loops and comprehensions over it are those of the tensor.  A loop whose number of iterations
is not known before it runs is run twice in the model: the first time only counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from typing_extensions import Self

from onnxwright.exporter.capture.source.errors import (
    DisagreementError,
    ListUseError,
    LoopChangeError,
    words,
)
from onnxwright.exporter.capture.source.functions import model_frame
from onnxwright.exporter.capture.source.regions import depth, empty
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.places import line_of


class RunTimeLengthError(RuntimeError):
    """Python asked for the length of a list; its function is to be rewritten."""

    def __init__(self) -> None:
        super().__init__("the length of a list that grew in a loop is data-dependent")


@dataclass
class Growth:
    """How a list grows in one loop.

    Fields:
        owner: the list of Python; None where it is one of rows before the loop.
        head: the items before the loop.
        sample: an item that an iteration adds.
        most: how many rows an iteration adds at most.
        certain: whether each iteration adds as many.
        added: how many were added in the iteration that is traced.
        counts_only: whether rows are counted and not kept.
    """

    owner: list[Any] | None
    head: list[Any] | Grown
    sample: torch.Tensor
    most: int
    certain: bool = True
    added: int = 0
    counts_only: bool = False


class Grown(list):  # type: ignore[type-arg]
    """A list whose items are the rows of a tensor.

    Args:
        rows: the items, one after the other.
        length: how many there are; a number, a symbolic one or a tensor.
        growth: of the loop in which it grows now; None outside.
    """

    def __init__(self, rows: Any, length: Any, growth: Growth | None = None) -> None:
        super().__init__()
        self._hold(rows)
        self.rows, self.length, self.growth = rows, length, growth

    def _hold(self, rows: Any) -> None:
        """Functions of torch that take a list look at the types of what is in it."""
        super().__setitem__(slice(None), [rows])

    def with_item(self, item: Any) -> Grown:
        """The list with another item at its end."""
        row = as_row(item)
        if row.dtype != self.rows.dtype or row.ndim != self.rows.ndim - 1:
            raise LoopChangeError("an item of the list", words(self.sample()), words(row))
        if self.growth is None:
            return Grown(torch.cat([self.rows, row[None]]), self.length + 1)
        self.growth.added += 1
        if self.growth.counts_only:
            return Grown(self.rows, self.length + 1, self.growth)
        place = (
            self.length if isinstance(self.length, torch.Tensor) else torch.full((1,), self.length)
        )
        rows = self.rows.index_put((place.reshape(1),), row[None])
        return Grown(rows, self.length + 1, self.growth)

    def whole(self, use: str) -> torch.Tensor:
        """The rows, for a use of the whole list; an error while it grows."""
        if self.growth is not None:
            raise _misused(use)
        rows: torch.Tensor = self.rows
        return rows

    def sample(self) -> torch.Tensor:
        """A tensor of the type and sizes of an item."""
        return empty(self.rows.shape[1:], self.rows.dtype)

    def __iadd__(self, items: Any) -> Self:
        found: Any = self
        for item in items:
            found = found.with_item(item)
        return found  # type: ignore[no-any-return]

    __add__ = __iadd__

    def __getitem__(self, index: Any) -> Any:
        if self.growth is not None and isinstance(index, slice):
            raise _misused("[...]")
        if self.growth is not None:
            return self._item_so_far(index)
        if (
            isinstance(index, slice)
            and index.step == -1
            and (index.start, index.stop) == (None,) * 2
        ):
            return Grown(self.rows.flip(0), self.length)
        rows = self.rows[index]
        return Grown(rows, rows.shape[0]) if isinstance(index, slice) else rows

    def _item_so_far(self, index: Any) -> Any:
        """An item of a list that still grows."""
        if self.growth is None or self.growth.counts_only:
            raise _misused("[...]")
        if isinstance(index, int) and index < 0:
            index = self.length + index
        if isinstance(index, torch.Tensor):
            return self.rows.index_select(0, index.reshape(1)).squeeze(0)
        return self.rows[index]

    def reverse(self) -> None:
        """Reverse the list, under all its names; not in a branch or a loop, which may not run."""
        if self.growth is not None or depth():
            raise _misused(".reverse")
        self.rows = self.rows.flip(0)
        self._hold(self.rows)

    def __len__(self) -> int:
        raise RunTimeLengthError

    def __iter__(self) -> Any:
        raise RunTimeLengthError

    def __bool__(self) -> bool:
        raise RunTimeLengthError

    __hash__ = None


def _misused(use: str) -> ListUseError:
    """The error for a use of a list, with the line of it."""
    error = ListUseError(use)
    place = _model_line()
    if place is not None:
        error.span = line_of(*place)
    return error


def _model_line() -> tuple[str, int] | None:
    """The line of the model's Python that runs now."""
    frame = model_frame(sys._getframe(1))
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise _misused(f".{name}")

    return method


for _name in (
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "index",
    "__contains__", "__reversed__", "__setitem__", "__delitem__", "__eq__", "__mul__", "copy",
):  # fmt: skip
    setattr(Grown, _name, _refused(_name))


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
        raise _misused("another name of it")


def close_other_names(items: list[Any]) -> None:
    """Empty the list of Python: other names of it would not see the rows."""
    with _disable_current_modes():
        items[:] = [torch.empty(0).as_subclass(OtherName)]


def length_of(items: Any) -> Any:
    """`len(items)`."""
    if isinstance(items, Grown):
        return items.length
    if type(items) is list and len(items) == 1 and isinstance(items[0], OtherName):
        raise _misused("another name of it")
    if isinstance(items, torch.Tensor) and items.ndim:
        return items.shape[0]  # `len` must be a number of Python
    return len(items)


def append(items: Any, item: Any) -> Any:
    """`items.append(item)`; gives the list."""
    if isinstance(items, Grown):
        return items.with_item(item)
    items.append(item)
    return items


def raise_growth(owner: Any, one: Any, two: Any, name: str) -> None:
    """Raise a disagreement if a list has more items on one side.

    Args:
        owner: the list; anything else for other slots.
        one, two: its items on both sides.
        name: what the user calls it.
    """
    if type(owner) is not list or not isinstance(one, list) or not isinstance(two, list):
        return
    grown = [x for x in (one, two) if isinstance(x, Grown)]
    if len(grown) == 1:
        error = DisagreementError(name, words(one), words(two))
        error.grows = (owner, [grown[0].sample()])
        raise error
    if grown or len(one) == len(two):
        return
    short, long = sorted((one, two), key=len)
    if all(a is b for a, b in zip(short, long)):
        error = DisagreementError(name, words(one), words(two))
        error.grows = (owner, long[len(short) :])
        raise error


def allocate_rows(
    head: Grown | Sequence[Any], sample: torch.Tensor, trips: Any, each: int
) -> torch.Tensor:
    """A tensor for the items that a list has and those that a loop adds.

    Args:
        head: the items before the loop.
        sample: an item that the loop adds.
        trips: how often the loop runs, a number below 1 for never.
        each: how many items an iteration adds at most.
    """
    if isinstance(trips, torch.Tensor):
        trips = trips.clamp(min=0).item()
        torch._check(trips >= 0)
    else:
        trips = torch.sym_max(trips, 0)
    free = torch.zeros([trips * each, *sample.shape], dtype=sample.dtype)
    if isinstance(head, Grown):
        return torch.cat([head.rows, free])
    if not head:
        return free
    rows = [as_row(item) for item in head]
    for row in rows:
        if row.dtype != sample.dtype or row.ndim != sample.ndim:
            raise LoopChangeError("an item of the list", words(row), words(sample))
    return (
        torch.stack(rows)
        if isinstance(trips, int) and not trips
        else torch.cat([torch.stack(rows), free])
    )


class ListFunctions(TorchFunctionMode):  # type: ignore[misc]
    """While it lasts, functions of torch that join the items of a list take a `Grown`."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch."""
        kwargs = kwargs or {}
        if func in _PARTS:
            found = _PARTS[func](*args, **kwargs)
            if found is not None:
                return found
        if args and isinstance(args[0], Grown):
            joined = _JOINED.get(func)
            if joined is None or args[0].growth is not None:
                raise _misused(getattr(func, "__name__", "a function"))
            return joined(args[0].rows, *args[1:], **kwargs)
        if getattr(func, "__name__", "") in _LOGIC:
            args = [_truth_tensor(x) for x in args]
        return func(*args, **kwargs)


# Operators that PyTorch does not have for a tensor and a comparison of sizes.
_LOGIC = frozenset(
    form.format(name)
    for name in ("and", "or", "xor")
    for form in ("__{}__", "__r{}__", "__i{}__", "bitwise_{}", "logical_{}")
)


def _truth_tensor(value: Any) -> Any:
    """A comparison of sizes as a tensor; other values as they are."""
    if isinstance(value, torch.SymBool) and free_unbacked_symbols(value):
        return torch.scalar_tensor(value, dtype=torch.bool)
    return value


def _iterated_rows(x: Any, dim: int = 0) -> Grown | None:
    """`x.unbind(dim)` of an axis of dynamic size, where loops over it are to be kept."""
    session = current()
    if session is None or not session.keeps_loops or not isinstance(x.shape[dim], torch.SymInt):
        return None
    return Grown(x.movedim(dim, 0), x.shape[dim])


def _iterated_parts(x: Any, split_size: Any, dim: int = 0) -> Grown | None:
    """The same for `x.split(1, dim)`."""
    if not isinstance(split_size, int) or split_size != 1:
        return None
    rows = _iterated_rows(x, dim)
    return None if rows is None else Grown(rows.rows.unsqueeze(dim % x.ndim + 1), rows.length)


def _stacked(rows: Any, dim: int = 0) -> Any:
    return rows.movedim(0, dim)


def _joined(rows: Any, dim: int = 0) -> Any:
    dim = dim % (rows.ndim - 1)
    return rows.movedim(0, dim).flatten(dim, dim + 1)


_PARTS: dict[Any, Callable[..., Any]] = {
    torch.unbind: _iterated_rows,
    torch.Tensor.unbind: _iterated_rows,
    torch.split: _iterated_parts,
    torch.Tensor.split: _iterated_parts,
}
_JOINED: dict[Any, Callable[..., Any]] = {
    torch.stack: _stacked,
    torch.cat: _joined,
    torch.concat: _joined,
    torch.concatenate: _joined,
    torch.tensor: lambda rows, **options: rows.to(options.get("dtype") or rows.dtype),
}
