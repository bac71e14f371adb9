"""Iterators over items whose number is known at run time only: they give their items once.

`zip(...)`, `enumerate(...)`, `map(...)`, generators and the like are empty after a loop over them.
After one that a tensor may have ended before, nobody knows what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch

from onnxwright.exporter.capture.control.errors import CaptureStoppedError
from onnxwright.exporter.capture.control.places import Attribute
from onnxwright.exporter.capture.control.places import Position as PlaceOfNext
from onnxwright.exporter.capture.control.store import current as store_now
from onnxwright.exporter.capture.source.errors import UsedAgainError
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.places import line_of

# The position of an iterator that has ended: more items than there are.
_END = 1 << 30


class RunTimeLengthError(CaptureStoppedError):
    """Python asked for the items of an iterable; its function is to be rewritten."""

    def __init__(self) -> None:
        super().__init__("the length of what is iterated is data-dependent")


class Position:
    """How many items of an iterator were taken; sides of a decision and loops merge it.

    Fields:
        value: a number of Python, or a tensor that stands for one.
    """

    def __init__(self) -> None:
        self.value: Any = 0

    @property
    def is_known(self) -> bool:
        """Whether Python knows it."""
        return isinstance(self.value, int)

    def step(self, last: Any = None) -> None:
        """Go on by one item.

        Args:
            last: whether there was one; None if there was.
        """
        self._note()
        if isinstance(self.value, int) and not isinstance(last, torch.Tensor):
            self.value = self.value + 1 if last is None or last else _END
            return
        after = self.value + 1
        self.value = after if last is None else torch.where(last, after, _END)
        session = current()
        if session is not None:
            session.numbers.add(self.value)

    def end(self) -> None:
        """Take all items."""
        self._note()
        self.value = _END

    def _note(self) -> None:
        store = store_now()
        if store is not None:
            store.note(Attribute(self, "value"))


@dataclass(frozen=True)
class RemainingItems:
    """Items from a place on that is known at run time only.

    Fields:
        items: all items.
        place: that of the first one, a tensor.
        item: gives the item of a list at a place of run time.
    """

    items: Any
    place: Any
    item: Callable[[Any, Any], Any]

    def __iter__(self) -> Any:
        raise RunTimeLengthError


class LazyIterator:
    """An iterator; rewritten code takes all of its items, or the first ones.

    Args:
        kind: what Python calls it, such as "zip".
        make: gives the items when they are asked for.
        item: gives the item of a list at a place of run time.
    """

    def __init__(
        self, kind: str, make: Callable[[], Any], item: Callable[[Any, Any], Any] = getitem
    ) -> None:
        self.kind, self.item = kind, item
        self.position = Position()
        self._make: Callable[[], Any] | None = make
        self._items: Any = None

    def take(self, *, whole: bool = True) -> Any:
        """The items that are left: none, if they were taken before.

        Args:
            whole: whether all are used; if not, this is the last use.

        Raises:
            UsedAgainError: nobody knows how many are left.
        """
        refuse_left(self)
        first = self.position.value
        if isinstance(first, int) and first >= _END:
            return ()
        items = self.items()
        self.position.end()
        if not whole:
            note_left(self)
        if not isinstance(first, int):
            return RemainingItems(items, first, self.item)
        return items[first:] if first else items

    def items(self) -> Any:
        """All items, those that were taken, too."""
        if self._make is not None:
            self._items, self._make = self._make(), None
        return self._items

    def __iter__(self) -> Any:
        raise RunTimeLengthError

    def __next__(self) -> Any:
        raise RunTimeLengthError


class ItemIterator(LazyIterator):
    """An iterator over items of Python, of which a side of a decision may take some.

    Args:
        kind: what Python calls it, such as "list_iterator".
        items: them, with places.
        item: gives the item of a list at a place of run time.
    """

    def __init__(self, kind: str, items: Any, item: Callable[[Any, Any], Any]) -> None:
        super().__init__(kind, lambda: items, item)

    def __iter__(self) -> ItemIterator:
        return self

    def __next__(self) -> Any:
        place, items = self.position.value, self.items()
        if not isinstance(place, int):
            raise RunTimeLengthError
        found = place < len(items)
        self.position.step(found)
        if not found:
            raise StopIteration
        return items[place]


def taken(items: Any, *, whole: bool = True) -> Any:
    """What is iterated: the items of an iterator, which are used up then.

    Args:
        items: anything that is iterated.
        whole: whether all items are used.
    """
    if isinstance(items, ItemIterator) and items.position.is_known:
        return items
    note_taken(items)
    return items.take(whole=whole) if isinstance(items, LazyIterator) else items


def note_taken(items: Any) -> None:
    """Tell the store that items of an iterator of Python are about to be taken."""
    store = store_now()
    if store is not None and isinstance(items, Iterator) and not isinstance(items, LazyIterator):
        store.note(PlaceOfNext(items))


def kind_of(value: Any) -> str:
    """What Python calls the class of an object."""
    return value.kind if isinstance(value, LazyIterator) else type(value).__name__


def note_left(iterator: Any) -> None:
    """Note that nobody knows how many items of an iterator are left."""
    session = current()
    if session is not None and isinstance(iterator, Iterator):
        session.left.append(iterator)


def refuse_left(iterator: Any) -> None:
    """Refuse an iterator of which nobody knows how many items are left.

    Raises:
        UsedAgainError: it is one.
    """
    session = current()
    if session is not None and any(iterator is other for other in session.left):
        error = UsedAgainError()
        error.span = line_of(*asking_line())
        raise error
