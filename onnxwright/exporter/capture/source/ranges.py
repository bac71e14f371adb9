"""Iterables whose length is known at run time only: ranges to a tensor, rows of a tensor.

`for place in mask.nonzero()` goes over the places of a mask that are true; with a mask of fixed
sizes these are all its places, each with the question whether it is one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.patches.joined_parts import Lengths, NumberRows, Parts
from onnxwright.exporter.capture.patches.symbolic_ranges import SymbolicRange, places_of_range
from onnxwright.exporter.capture.source.lists import Grown
from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer, value_of
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.unknown_numbers import is_unknown


@dataclass(frozen=True)
class Counted:
    """Items by a counter.

    Fields:
        start, stop, step: the values of the counter, as of a range.
        item: gives the item for a value of the counter, a tensor.
    """

    start: Any
    stop: Any
    step: int
    item: Callable[[Any], Any]

    def first(self) -> Any:
        """The first value of the counter."""
        return self.start

    def more(self, count: Any) -> Any:
        """Whether a value of the counter is still in the range."""
        return count < self.stop if self.step > 0 else count > self.stop

    def next(self, count: Any) -> Any:
        """The next value."""
        return count + self.step

    @property
    def length(self) -> Any:
        """How many items there are; a number below 1 for none."""
        away = self.stop - self.start if self.step > 0 else self.start - self.stop
        size = abs(self.step)
        return away if size == 1 else (away + size - 1) // size

    def unrolled(self) -> Iterator[Any]:
        """The items, one after the other; a size becomes a number of Python."""
        for count in range(int(self.start), int(self.stop), self.step):
            yield self.item(count)

    def backwards(self) -> Counted:
        """The items from the last to the first."""
        return Counted(0, self.length, 1, lambda n: self.at(self.length - 1 - n))

    @property
    def is_sized(self) -> bool:
        """Whether the length follows from the sizes of inputs."""
        return not any(
            isinstance(n, torch.Tensor) or free_unbacked_symbols(n) for n in (self.start, self.stop)
        )

    def at(self, position: Any) -> Any:
        """The item at a position, counted from 0."""
        return self.item(self.start + position * self.step)


def range_(*args: Any) -> Any:
    """`range(...)`; of tensors and of sizes, a `Counted`."""
    if all(isinstance(a, int) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if isinstance(step, (torch.Tensor, *SYMBOLS)) and is_unknown(step):
        # As many as fit, whichever sign the step has.
        ends = [_as_tensor(n) for n in (start, stop, step)]
        first, length = ends[0], -torch.div(ends[0] - ends[1], ends[2], rounding_mode="floor")
        return Counted(0, length.clamp(min=0), 1, lambda n: first + n * ends[2])
    if not isinstance(step, int) or not step:
        return SymbolicRange(*args)
    if not any(isinstance(a, torch.Tensor) for a in args):
        known = places_of_range(args)
        if known is not None:
            return known
    return Counted(start, stop, step, lambda count: count)


def _as_tensor(number: Any) -> torch.Tensor:
    return number if isinstance(number, torch.Tensor) else torch.scalar_tensor(number).long()


def enumerate_(items: Any, start: int = 0) -> Any:
    """`enumerate(...)`."""
    found = counted(items)
    if found is None:
        return enumerate(items, start)
    return Counted(0, found.length, 1, lambda n: (n + start, found.at(n)))


def reversed_(items: Any) -> Any:
    """`reversed(...)`."""
    if isinstance(items, Grown):
        return items[::-1]
    found = counted(items)
    return reversed(items) if found is None else found.backwards()


def zip_(*items: Any, **options: Any) -> Any:
    """`zip(...)`: as long as the shortest."""
    found = [f for f in map(counted, items) if f is not None]
    if not items or len(found) < len(items):
        return zip(*items, **options)
    shortest = functools.reduce(_smaller, (f.length for f in found))
    return Counted(0, shortest, 1, lambda n: tuple(f.at(n) for f in found))


def _smaller(a: Any, b: Any) -> Any:
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return torch.minimum(torch.as_tensor(a), torch.as_tensor(b))
    return torch.sym_min(a, b)


def counted(items: Any) -> Counted | None:
    """An iterable as items by a counter, if its length is known at run time only.

    Args:
        items: what a `for` goes over.

    Returns:
        The items; None for iterables of Python.
    """
    if isinstance(items, Counted):
        return items
    if isinstance(items, Lengths):
        return Counted(0, items.sizes.shape[0], 1, lambda n: _number(items.sizes[n]))
    if isinstance(items, NumberRows):
        return Counted(0, items.rows.shape[0], 1, lambda n: _row(items.rows[n]))
    if isinstance(items, Parts):
        return _parts(items)
    if isinstance(items, Grown):
        return Counted(0, items.length, 1, lambda count: items.rows[count])
    if isinstance(items, torch.Tensor) and items.ndim and isinstance(items.shape[0], SYMBOLS):
        return Counted(0, items.shape[0], 1, lambda count: items[count])
    return None


def _number(value: torch.Tensor) -> torch.Tensor:
    """A tensor that stands for a number of Python."""
    session = current()
    if session is not None:
        session.numbers.add(value)
    return value


def _row(values: torch.Tensor) -> list[torch.Tensor]:
    """A row as a list of numbers of Python."""
    return [_number(value) for value in values.unbind(0)]


def _parts(items: Parts) -> Counted:
    """The parts of a tensor, by a counter."""
    sizes = items.lengths.sizes
    ends = sizes.cumsum(0)

    def part(n: Any) -> Any:
        size, end = sizes[n].item(), ends[n].item()
        torch._check(size >= 0)
        torch._check(end >= size)
        return items.whole.narrow(items.dim, end - size, size)

    return Counted(0, sizes.shape[0], 1, part)


# A mask with more places than this is not gone through place by place.
_PLACES = 512


def places(items: Any) -> list[tuple[Any, Any]] | None:
    """The places that a `nonzero` may give, if its mask has fixed sizes.

    Args:
        items: what a `for` goes over.

    Returns:
        For each place whether it is there, a tensor of one truth value, and what `nonzero` gives
        for it; None for other iterables.
    """
    proxy = tracer().tensor_tracker.get(items) if isinstance(items, torch.Tensor) else None
    node = None if proxy is None else proxy.proxy.node
    if node is None or node.target is not torch.ops.aten.nonzero.default:
        return None
    mask = value_of(node.args[0])
    if not all(isinstance(n, int) for n in mask.shape) or mask.numel() > _PLACES:
        return None
    every = itertools.product(*map(range, mask.shape))
    return [(mask[place] != 0, torch.tensor(list(place))) for place in every]
