"""Iterators over items whose number is known at run time only: used once.

`zip(...)`, `enumerate(...)`, `map(...)`, generators and the like are empty after a loop over them.
After `next`, a loop that a tensor may have ended before, and a side of a decision that took items,
nobody knows how many are left: a later use is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from onnxwright.exporter.capture.control.places import Attribute, Position
from onnxwright.exporter.capture.control.store import current as store_now
from onnxwright.exporter.capture.session.errors import CaptureStoppedError, UsedAgainError
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.places import line_of


class RunTimeLengthError(CaptureStoppedError):
    """Python asked for the items of an iterable; its function is to be rewritten."""

    def __init__(self) -> None:
        super().__init__("the length of what is iterated is data-dependent")


def reads_items(self: Any, *args: Any, **options: Any) -> Any:
    """What Python asks of a list or an iterator and has no answer for here."""
    raise RunTimeLengthError


class LazyIterator:
    """An iterator; rewritten code takes all of its items, or the first one.

    Args:
        kind: what Python calls it, such as "zip".
        make: gives the items when they are asked for.

    Fields:
        is_used: whether they were asked for; a tensor where only one side of a decision did.
    """

    def __init__(self, kind: str, make: Callable[[], Any]) -> None:
        self.kind, self._make = kind, make
        self.is_used: Any = False

    def take(self, *, whole: bool = True) -> Any:
        """The items: none, if they were taken before.

        Raises:
            UsedAgainError: nobody knows how many are left.
        """
        refuse_left(self)
        if not isinstance(self.is_used, bool):
            raise _used_again()
        if self.is_used:
            return ()
        store = store_now()
        if store is not None:
            store.note(Attribute(self, "is_used"))
        self.is_used = True
        if not whole:
            note_left(self)
        return self._make()

    __iter__ = __next__ = reads_items


def taken(items: Any, *, whole: bool = True) -> Any:
    """What is iterated: the items of an iterator, which are used up then."""
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
    error.span = line_of(*model_line())
    return error
