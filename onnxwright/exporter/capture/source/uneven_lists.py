"""Lists of tensors of which one axis has another size in each: they are joined along this axis.

`out.append(x[start : start + 4])` in a loop of the model joins the part to those before, and keeps
its size.  `torch.cat(out, axis)` is what was joined; an item is a part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.source.errors import LoopChangeError, words
from onnxwright.exporter.capture.source.lists import as_row, place_of
from onnxwright.exporter.capture.source.regions import empty
from onnxwright.exporter.capture.source.run_time_lists import Parts, RunTimeList, as_place, misused


class RaggedRows(RunTimeList):
    """A list whose items differ in the size of one axis.

    Args:
        items: them, joined along the axis.
        sizes: the size of each, a tensor of one axis.
        dim: the axis.
    """

    def __init__(self, items: torch.Tensor, sizes: torch.Tensor, dim: int) -> None:
        super().__init__(sizes.shape[0], items)
        self.items, self.sizes, self.dim = items, sizes, dim

    def parts(self) -> Parts:
        """The items and their sizes."""
        dim = self.dim
        return [".items", ".sizes"], [self.items, self.sizes], lambda v: RaggedRows(v[0], v[1], dim)

    def sample(self) -> torch.Tensor:
        """A tensor of the type of an item; the axis has no size."""
        sizes = [0 if n == self.dim else size for n, size in enumerate(self.items.shape)]
        return empty(sizes, self.items.dtype)

    def copied(self, use: str) -> RaggedRows:
        """Another list of the same items."""
        return RaggedRows(self.items, self.sizes, self.dim)

    def with_item(self, item: Any, first: bool = False) -> RaggedRows:
        """The list with another item at its end."""
        part = as_row(item)
        if first:
            raise misused(".insert")
        if part.dtype != self.items.dtype or part.ndim != self.items.ndim:
            raise LoopChangeError("an item of the list", words(self.sample()), words(part))
        size = torch.full((1,), part.shape[self.dim], dtype=torch.int64)
        return RaggedRows(
            torch.cat([self.items, part], self.dim), torch.cat([self.sizes, size]), self.dim
        )

    def after(self, items: Sequence[Any]) -> RunTimeList:
        """A list of items of Python, and these."""
        return begin_uneven(items, self.sample(), self.dim).joined_with(self)

    def joined_with(self, other: RunTimeList) -> RaggedRows:
        """The list, and the items of another one that differ in the same axis."""
        if not isinstance(other, RaggedRows) or other.dim != self.dim:
            raise misused("+")
        return RaggedRows(
            torch.cat([self.items, other.items], self.dim),
            torch.cat([self.sizes, other.sizes]),
            self.dim,
        )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise misused("[...]")
        return self.at(place_of(index, self.length).reshape(()))

    def at(self, place: Any) -> torch.Tensor:
        """The item at a place of run time."""
        return part_at(self.items, self.sizes, self.dim, place)

    def joined(self, dim: int = 0) -> torch.Tensor:
        """The items, joined along their axis; along another one only equal items can be."""
        if (dim - self.dim) % self.items.ndim:
            raise misused("torch.cat along another axis")
        return self.items.clone()

    def padded(
        self, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
    ) -> torch.Tensor:
        """The items as rows of one tensor, with a number where an item is shorter."""
        if self.dim or padding_side != "right":
            raise misused("pad_sequence")
        longest = self.sizes.max().item()
        torch._check(longest >= 0)
        starts = (self.sizes.cumsum(0) - self.sizes)[:, None]
        places = torch.arange(longest)[None]
        free = torch.full_like(self.items[:1].sum(0, keepdim=True), padding_value)
        items = torch.cat([self.items, free])
        last = self.sizes.sum()
        rows = items[torch.where(places < self.sizes[:, None], starts + places, last)]
        return rows if batch_first else rows.transpose(0, 1)


def part_at(whole: torch.Tensor, sizes: torch.Tensor, dim: int, place: Any) -> torch.Tensor:
    """One of the parts that a tensor is joined of.

    Args:
        whole: the tensor.
        sizes: the sizes of the parts.
        dim: the axis along which they are joined.
        place: which of them; a number or a tensor of one.
    """
    ends = sizes.cumsum(0)
    size, end = sizes[place].item(), ends[place].item()
    torch._check(size >= 0)
    torch._check(end >= size)
    return whole.narrow(dim, end - size, size)


def uneven_axis(sample: torch.Tensor, known: set[Any]) -> int | None:
    """The one axis of an item whose size is another one in each iteration.

    Args:
        sample: an item.
        known: the sizes known at run time that exist outside of the iteration.

    Returns:
        The axis; None if there is none, or more than one.
    """
    sizes = enumerate(sample.shape)
    found = [n for n, size in sizes if free_unbacked_symbols(size) - known]
    return found[0] if len(found) == 1 else None


def begin_uneven(items: Sequence[Any], sample: torch.Tensor, dim: int) -> RaggedRows:
    """A list before the loop that adds items to it.

    Args:
        items: those that it has.
        sample: an item that the loop adds.
        dim: its axis of another size in each iteration.
    """
    sizes = [0 if n == dim else size for n, size in enumerate(sample.shape)]
    found = RaggedRows(
        torch.zeros(sizes, dtype=sample.dtype), torch.zeros(0, dtype=torch.int64), dim
    )
    for item in items:
        found = found.with_item(item)
    return found


def split_evenly(x: Any, size: int, dim: int) -> RaggedRows:
    """The parts of a tensor of `size` elements of an axis each; the last one may be smaller.

    Args:
        x: the tensor.
        size: how many, 1 or more.
        dim: the axis, of dynamic size.
    """
    dim = dim % x.ndim
    length = x.shape[dim]
    count = torch.sym_max((length + size - 1) // size, 1)
    return RaggedRows(x, (length - torch.arange(count) * size).clamp(max=size), dim)


def split_at_run_time(x: torch.Tensor, size: Any, dim: int) -> RaggedRows:
    """The parts of a tensor of `size` elements of an axis each, a number of run time."""
    length, each = as_place(x.shape[dim]), as_place(size)
    count = ((length + each - 1) // each).clamp(min=1).item()
    torch._check(count >= 1)
    sizes = (length - torch.arange(count) * each).clamp(max=each)
    return RaggedRows(x, sizes, dim % x.ndim)
