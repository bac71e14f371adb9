"""Iterators of before a capture: copies of them are used up in their place.

Other states that nobody can copy, or see, are refused.
"""

from __future__ import annotations

import functools
import warnings
from types import FunctionType, GeneratorType
from typing import Any

from onnxwright.exporter.capture.control import convert
from onnxwright.exporter.capture.control.places import Position, is_closed
from onnxwright.exporter.capture.control.store import Store, current
from onnxwright.exporter.capture.session.errors import IteratorTakenError, NotTakenBackError
from onnxwright.exporter.places import is_of_user


def own_iterator(store: Store, items: Any) -> Any:
    """The iterator whose items are taken.

    Returns:
        It, if the capture made it; a copy of one of before, the same for each use.

    Raises:
        IteratorTakenError: it is of before, and cannot be copied.
    """
    if store.depth:
        store.note(Position(items))
    if id(items) in store.made:
        return items
    if isinstance(items, GeneratorType):
        code = items.gi_code
        if code.co_name == "<genexpr>" or convert.has_runtime(code):
            return items
        if is_of_user(code.co_filename):
            raise IteratorTakenError("generator")
        return items
    take = getattr(type(items), "__next__", None)
    if type(take) is FunctionType:
        return Converted(items, take) if is_of_user(take.__code__.co_filename) else items
    if store.depth:
        raise IteratorTakenError(type(items).__name__)
    entry = store.copies.get(id(items))
    if entry is None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                iterator_copy = _copied(items)
        except Exception:  # noqa: BLE001 - an iterator of C may fail in any way
            iterator_copy = items
        if iterator_copy is items:
            if store.is_of_before(items):
                raise IteratorTakenError(type(items).__name__)
            return items  # the program made it
        entry = store.copies[id(items)] = (items, iterator_copy, repr(iterator_copy))
    return entry[1]


def _copied(items: Any) -> Any:
    """A copy of an iterator, with copies of the iterators that it goes over."""
    reduced = items.__reduce__()
    if isinstance(reduced, str):
        return items
    iterator_copy = reduced[0](
        *[_copied(p) if hasattr(type(p), "__next__") else p for p in reduced[1]]
    )
    if len(reduced) > 2 and reduced[2] is not None:
        state = reduced[2]
        iterator_copy.__setstate__(
            tuple(map(_of_its_own, state)) if type(state) is tuple else state
        )
    return iterator_copy


def _of_its_own(part: Any) -> Any:
    """A part of the state of an iterator, for a copy of the iterator."""
    if hasattr(type(part), "__next__"):
        return _copied(part)
    return list(part) if type(part) is list else part


def made_here(items: Any) -> Any:
    """An iterator that the capture made, and that it may use up."""
    store = current()
    if store is not None:
        store.made[id(items)] = items
    return items


class Converted:
    """An iterator of a class of the user, whose `__next__` is converted."""

    def __init__(self, items: Any, take: FunctionType) -> None:
        self._items, self._take = items, take

    def __iter__(self) -> Converted:
        return self

    def __next__(self) -> Any:
        return convert.runtime().bound(self._take)(self._items)


def next_of(store: Store, items: Any, /, *default: Any) -> Any:
    """`next(items)`."""
    return next(own_iterator(store, items), *default)


def iterator_of(store: Store, *args: Any) -> Any:
    """`iter(items)`."""
    iterator = iter(*args) if len(args) > 1 else iter(convert.runtime().iterated(args[0]))
    return iterator if len(args) == 1 and iterator is args[0] else made_here(iterator)


def refuse_unseen(store: Store, owner: Any, name: str) -> None:
    """Refuse a method of an object of C whose state cannot be read.

    Raises:
        NotTakenBackError: a side would change it, or the object is of before the capture.
    """
    kind = type(owner).__name__
    if isinstance(owner, functools._lru_cache_wrapper):
        raise NotTakenBackError(
            f"calls `{name}` of a cached function: a capture fills no cache", kind
        )
    if is_closed(owner) and (store.depth or store.is_of_before(owner)):
        raise NotTakenBackError(f"changes a {kind} that was made before the export", kind)


def refuse_ended(kind: type) -> None:
    """Refuse to make an object of a class of the user with `__del__`.

    Raises:
        NotTakenBackError: it is one.
    """
    ends = getattr(kind, "__del__", None)
    if type(ends) is FunctionType and is_of_user(ends.__code__.co_filename):
        does = "makes an object with `__del__`, and nothing says when that runs"
        raise NotTakenBackError(does, kind.__name__)
