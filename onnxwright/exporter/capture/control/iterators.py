"""Iterators of before a capture: copies of them are used up in their place."""

from __future__ import annotations

import warnings
from types import FunctionType, GeneratorType
from typing import Any

from onnxwright.exporter.capture.control import convert
from onnxwright.exporter.capture.control.errors import IteratorTakenError
from onnxwright.exporter.capture.control.places import Position
from onnxwright.exporter.capture.control.store import Store, current
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
    known = store.copies.get(id(items))
    if known is None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                made = _copied(items)
        except Exception:  # noqa: BLE001 - an iterator of C may fail in any way
            made = items
        if made is items:
            if store.snapshot is not None and id(items) in store.snapshot.seen:
                raise IteratorTakenError(type(items).__name__)
            return items  # the program made it
        known = store.copies[id(items)] = (items, made, repr(made))
    return known[1]


def _copied(items: Any) -> Any:
    """A copy of an iterator, with copies of the iterators that it goes over."""
    reduced = items.__reduce__()
    if isinstance(reduced, str):
        return items
    made = reduced[0](*[_copied(p) if hasattr(type(p), "__next__") else p for p in reduced[1]])
    if len(reduced) > 2 and reduced[2] is not None:
        state = reduced[2]
        made.__setstate__(tuple(map(_of_its_own, state)) if type(state) is tuple else state)
    return made


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
