"""`iter(...)`, `next(...)`, and iterators of variables: how many items were taken is a value.

Sides of a decision, and iterations of a loop, may take another number of items.  The place of the
next one is then known at run time only.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.iterators import made_here
from onnxwright.exporter.capture.source import ranges
from onnxwright.exporter.capture.source.deciding import choose
from onnxwright.exporter.capture.source.items import item
from onnxwright.exporter.capture.source.iterators import (
    ItemIterator,
    LazyIterator,
    note_taken,
    refuse_left,
)
from onnxwright.exporter.capture.source.raising import refuse_handled
from onnxwright.exporter.capture.source.regions import tracer
from onnxwright.exporter.capture.source.rows import Rows
from onnxwright.exporter.capture.source.session import current

# What goes through items with places.
_ITEMS: tuple[Any, ...] = ([], (), range(0), {}, {}.values(), {}.items())
_SINGLE = tuple(type(iter(items)) for items in _ITEMS)
_BACKWARDS: Any = type(reversed([]))


def iter_(items: Any, *rest: Any) -> Any:
    """`iter(...)`."""
    if rest:
        return iter(items, *rest)
    if isinstance(items, LazyIterator):
        return items
    if isinstance(items, Rows) or ranges.is_counted(items):
        return LazyIterator("iterator", lambda: items)
    return stored(bound(iter)(items))


def stored(value: Any) -> Any:
    """A value for a variable; of an iterator over items of Python one whose position is a value."""
    if (
        current() is None
        or tracer() is None
        or type(value) not in (*_SINGLE, _BACKWARDS, zip, enumerate)
    ):
        return made_here(value)
    items = _source(value)
    return made_here(value) if items is None else ItemIterator(type(value).__name__, items, item)


class _Together(Sequence[Any]):
    """What `zip` and `enumerate` go through, as items with places.

    Args:
        parts: lists and the like.
        start: the number of the first item; None for `zip`.
    """

    def __init__(self, parts: Sequence[Any], start: int | None = None) -> None:
        self.parts, self.start = parts, start

    def __len__(self) -> int:
        return min((len(part) for part in self.parts), default=0)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[n] for n in range(len(self))[place]]
        found = tuple(part[place] for part in self.parts)
        return found if self.start is None else (place + self.start, *found)


def _source(value: Any) -> Any:
    """The items that a new iterator goes through, with places; None where it is another one."""
    _, args, *rest = value.__reduce__()
    if type(value) is zip:
        parts = [_source(part) if type(part) in _SINGLE else None for part in args]
        return None if any(part is None for part in parts) else _Together(parts)
    if type(value) is enumerate:
        found = _source(args[0]) if type(args[0]) in _SINGLE else None
        return None if found is None else _Together([found], args[1])
    if type(value) is _BACKWARDS:
        return args[0][::-1] if rest == [len(args[0]) - 1] else None
    return None if any(rest) else args[0]


def next_(items: Any, *default: Any) -> Any:
    """`next(items, default)`, of items whose number or place is of run time as well."""
    refuse_left(items)
    if not isinstance(items, LazyIterator):
        note_taken(items)
        return bound(next)(items, *default)
    if isinstance(items, ItemIterator) and items.position.is_known:
        return next(items, *default)
    every, position = items.items(), items.position
    place, found = position.value, ranges.counted(every)
    if isinstance(every, Rows):
        every.check_order("next")
        one, length = functools.partial(every.__getitem__, place), every.length
    elif found is not None:
        if found.most is not None and (not position.is_known or place >= found.most):
            return next(iter(()), *default)
        one, length = functools.partial(found.at, place), found.length
    elif position.is_known:
        position.step()
        return next(iter(every[place:]), *default)
    else:
        one, length = functools.partial(item, list(every), place), len(every)
    if not default:
        # PyTorch takes the sizes of inputs for 1 or more.
        if not (found is not None and found.is_sized and position.value == 0):
            refuse_handled(StopIteration())
        position.step()
        return one()
    there = place < length
    position.step(None if isinstance(place, int) else there)
    return choose(there, one, lambda: default[0])
