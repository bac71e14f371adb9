"""Iterables whose length is known at run time only: ranges to a tensor, rows of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.exporter.capture.source.regions import SYMBOLS


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


def range_(*args: Any) -> Any:
    """`range(...)`; of tensors and of sizes, a `Counted`."""
    if all(isinstance(a, int) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if not isinstance(step, int) or not step:
        return range(*args)
    return Counted(start, stop, step, lambda count: count)


def enumerate_(items: Any, start: int = 0) -> Any:
    """`enumerate(...)`."""
    found = counted(items)
    if found is None:
        return enumerate(items, start)
    if found.step != 1 or found.start != 0:
        raise NotImplementedError("enumerate of a range that does not start at 0")
    return Counted(0, found.stop, 1, lambda count: (count + start, found.item(count)))


def zip_(*items: Any, **options: Any) -> Any:
    """`zip(...)`."""
    found = [counted(i) for i in items]
    if not items or any(f is None for f in found):
        return zip(*items, **options)
    return Counted(0, found[0].stop, 1, lambda count: tuple(f.item(count) for f in found))  # type: ignore[union-attr]


def counted(items: Any) -> Counted | None:
    """An iterable as items by a counter, if its length is known at run time only.

    Args:
        items: what a `for` goes over.

    Returns:
        The items; None for iterables of Python.
    """
    if isinstance(items, Counted):
        return items
    if isinstance(items, torch.Tensor) and items.ndim and isinstance(items.shape[0], SYMBOLS):
        return Counted(0, items.shape[0], 1, lambda count: items[count])
    return None
