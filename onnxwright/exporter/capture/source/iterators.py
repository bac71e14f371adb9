"""Iterators over items whose number is known at run time only: the items, and a position.

`zip(...)`, `enumerate(...)`, `map(...)`, generators and the like are empty after a loop over them.
After a loop that a tensor may have ended before, and where a side of a decision or an iteration of
a loop took an item, nobody knows how many are left: a later use is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from onnxwright.exporter.capture.control.errors import CaptureStoppedError
from onnxwright.exporter.capture.control.places import Attribute, Position
from onnxwright.exporter.capture.control.store import current as store_now
from onnxwright.exporter.capture.source.errors import UsedAgainError
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.places import line_of

# The position of an iterator that has ended.
_END = -1


class RunTimeLengthError(CaptureStoppedError):
    """Python asked for the items of an iterable; its function is to be rewritten."""

    def __init__(self) -> None:
        super().__init__("the length of what is iterated is data-dependent")


class LazyIterator:
    """An iterator; rewritten code takes all of its items, or the first ones.

    Args:
        kind: what Python calls it, such as "zip".
        make: gives the items when they are asked for.

    Fields:
        place: how many items were taken; a tensor where sides or iterations took another number.
    """

    def __init__(self, kind: str, make: Callable[[], Any]) -> None:
        self.kind = kind
        self.place: Any = 0
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
        if self.has_ended:
            return ()
        items, first = self.items(), self.place
        self.move(_END)
        if not whole:
            note_left(self)
        return items[first:] if first else items

    def move(self, place: int) -> None:
        """Have taken as many items: sides of decisions may take another number."""
        store = store_now()
        if store is not None:
            store.note(Attribute(self, "place"))
        self.place = place

    @property
    def has_ended(self) -> bool:
        """Whether no item is left.

        Raises:
            UsedAgainError: that is known at run time only.
        """
        if not isinstance(self.place, int):
            raise _used_again()
        return self.place == _END

    def items(self) -> Any:
        """All items, those that were taken, too."""
        if self._make is not None:
            self._items, self._make = self._make(), None
        return self._items

    def __iter__(self) -> Any:
        raise RunTimeLengthError

    def __next__(self) -> Any:
        raise RunTimeLengthError


def taken(items: Any, *, whole: bool = True) -> Any:
    """What is iterated: the items of an iterator, which are used up then.

    Args:
        items: anything that is iterated.
        whole: whether all items are used.
    """
    note_taken(items)
    return items.take(whole=whole) if isinstance(items, LazyIterator) else items


def note_taken(items: Any) -> None:
    """Tell the store that items of an iterator of Python are about to be taken."""
    store = store_now()
    if store is not None and isinstance(items, Iterator) and not isinstance(items, LazyIterator):
        store.note(Position(items))


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
        raise _used_again()


def _used_again() -> UsedAgainError:
    error = UsedAgainError()
    error.span = line_of(*asking_line())
    return error
