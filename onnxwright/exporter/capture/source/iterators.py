"""Iterators over items whose number is known at run time only: they give their items once.

`zip(...)`, `enumerate(...)`, `map(...)`, generators and the like are empty after a loop over them.
After one that a tensor may have ended before, nobody knows what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from onnxwright.exporter.capture.source.errors import UsedAgainError
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.places import line_of

# What `operator.length_hint` gives of one that is not used up: less for each item that is taken.
_NEW = 1 << 30


class RunTimeLengthError(RuntimeError):
    """Python asked for the items of an iterable; its function is to be rewritten."""

    def __init__(self) -> None:
        super().__init__("the length of what is iterated is data-dependent")


class Once:
    """An iterator; rewritten code takes all of its items, or the first ones.

    Args:
        kind: what Python calls it, such as "zip".
        make: gives the items when they are asked for.
    """

    def __init__(self, kind: str, make: Callable[[], Any]) -> None:
        self.kind = kind
        self._make: Callable[[], Any] | None = make
        self._items: Any = None
        self._first = 0
        self._taken = False

    def take(self, *, whole: bool = True) -> Any:
        """The items that are left: none, if they were taken before.

        Args:
            whole: whether all are used; if not, this is the last use.

        Raises:
            UsedAgainError: nobody knows how many are left.
        """
        refuse_left(self)
        if self._taken:
            return ()
        items, first = self._all(), self._first
        self._taken = True
        if not whole:
            note_left(self)
        return items[first:] if first else items

    def take_first(self) -> tuple[Any, int]:
        """All items, and the place of the next one, which is taken."""
        refuse_left(self)
        if self._taken:
            return (), 0
        self._first += 1
        return self._all(), self._first - 1

    def _all(self) -> Any:
        if self._make is not None:
            self._items, self._make = self._make(), None
        return self._items

    def __length_hint__(self) -> int:
        return 0 if self._taken else _NEW - self._first

    def __iter__(self) -> Once:
        raise RunTimeLengthError

    def __next__(self) -> Any:
        raise RunTimeLengthError


def taken(items: Any, *, whole: bool = True) -> Any:
    """What is iterated: the items of an iterator, which are used up then.

    Args:
        items: anything that is iterated.
        whole: whether all items are used.
    """
    return items.take(whole=whole) if isinstance(items, Once) else items


def kind_of(value: Any) -> str:
    """What Python calls the class of an object."""
    return value.kind if isinstance(value, Once) else type(value).__name__


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
