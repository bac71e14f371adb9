"""What a side of a decision, or an iteration of a loop, writes beside its own variables.

The store knows of every write: the places of before that a side wrote to, in its own code or in
functions that it calls, become places of its state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import CellType, FunctionType
from typing import Any

from onnxwright.exporter.capture.control.places import (
    Attribute,
    Cell,
    Items,
    ModuleAttribute,
    Place,
    Variable,
    is_container,
)
from onnxwright.exporter.capture.control.settings import Picture
from onnxwright.exporter.capture.control.store import Side, Store, current, opened
from onnxwright.exporter.capture.session.errors import (
    ChangedInPlaceError,
    MayChangeError,
    OpaqueCallError,
    UnseenChangeError,
)
from onnxwright.exporter.capture.session.session import refused_here
from onnxwright.exporter.capture.values.iterators import kind_of
from onnxwright.exporter.capture.values.logic import scope
from onnxwright.exporter.capture.values.one_sided import note_inherited
from onnxwright.exporter.capture.values.state import State, is_inherited, value_at


@contextmanager
def side_of(*functions: Any) -> Iterator[Side]:
    """Take back at the end what functions write.

    Args:
        functions: those that run meanwhile.

    Raises:
        ChangedInPlaceError: what they reach is not as it was then, and nobody saw who changed it.
        MayChangeError: a function that cannot be read is given an object that it may change.
    """
    store = current()
    with opened(Store() if store is None else store) as used:
        assert used is not None
        try:
            picture = Picture(used.snapshot, functions)
            with scope(), used.side(*functions) as one:
                yield one
            if not one.is_kept:
                picture.check(one.seen)
        except OpaqueCallError as error:
            raise MayChangeError(error.name, error.kind) from error
        except UnseenChangeError as error:
            raise ChangedInPlaceError(error.kind, error.name) from error


@contextmanager
def changes_nothing(*functions: Any) -> Iterator[None]:
    """Refuse what is written here, where it is known at run time only whether this runs.

    Args:
        functions: those that run.

    Raises:
        ChangedInPlaceError: something of before is written to.
    """
    with refused_here():
        with side_of(*functions) as side:
            yield
        if side.writes:
            raise ChangedInPlaceError(kind_of(side.writes[0].place.owner))


def places_of(side: Side) -> list[Place]:
    """The places of before that a side wrote to.

    Raises:
        ChangedInPlaceError: sides cannot choose what one of them holds.
    """
    for write in side.writes:
        if not _is_choosable(write.place):
            raise ChangedInPlaceError(kind_of(write.place.owner))
    return [write.place for write in side.writes]


def end_side(side: Side, state: State, *functions: Any) -> list[tuple[Place, Any]]:
    """End a side: all places hold what they held before.

    Args:
        side: one that has run.
        state: what sides are known to change.
        functions: the branches.

    Returns:
        The other places that it wrote to, each with what it left there.

    Raises:
        ChangedInPlaceError: one of these cannot be chosen between sides.
    """
    held = {key: value_at(entry.place) for key, entry in side.log.items()
            if _is_choosable(entry.place)}  # fmt: skip
    for entry in side.log.values():
        if is_inherited(entry.place):  # the side deletes that of the object
            note_inherited(entry.place.owner, str(entry.place.name))
    side.end()
    own = {id(cell) for f in functions for name, cell in _cells(f) if name in state.names}
    return [
        (place, held[place.key]) for place in places_of(side)
        if not state.has(place) and id(place.owner) not in own
    ]  # fmt: skip


def _is_choosable(place: Place) -> bool:
    """Whether sides can choose what a place holds."""
    if isinstance(place, Items):
        return is_container(place.owner)
    is_attribute = isinstance(place, (Attribute, ModuleAttribute)) and not place.is_of_python
    return is_attribute or isinstance(place, (Variable, Cell))


def _cells(function: Any) -> Iterator[tuple[str, CellType]]:
    """The variables that a function, and those that it calls, have of the function around."""
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, FunctionType) or id(one) in seen:
            continue
        seen.add(id(one))
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or ()):
            yield name, cell
            try:
                waiting.append(cell.cell_contents)
            except ValueError:
                continue
