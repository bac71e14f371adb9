"""The variables, attributes and containers that branches of a decision change."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any, ClassVar, Union

from onnxwright.exporter.capture.control.places import (
    MISSING,
    Attribute,
    Cell,
    Items,
    Variable,
    attribute,
)
from onnxwright.exporter.capture.control.places import Place as StorePlace
from onnxwright.exporter.capture.control.store import current
from onnxwright.exporter.capture.source.holding import items_of
from onnxwright.exporter.capture.source.one_sided import note_one_sided


class _Unset:
    """Stands for a variable without a value."""

    def __repr__(self) -> str:
        return "no value"


UNSET = _Unset()
Branch = Callable[[], None]


Place = tuple[Any, Union[str, None]]
"""An object and its attribute; None for the items of a container."""


@dataclass
class Slot:
    """One place that branches may change.

    Fields:
        name: what the user calls it.
        live: whether its value is read after the branches.
    """

    name: str
    live: bool


class State:
    """What branches of one decision bind and change; made by rewritten code.

    Args:
        names: variables that a branch binds.
        live: those that are read after it; of a loop, those that are carried.
        getters: read them.
        setter: binds them all.
        read: of a loop, the names whose value an iteration takes from the one before.
        augmented: those of them that `+=` binds, which changes a tensor in place.
    """

    def __init__(
        self,
        names: Sequence[str],
        live: Sequence[str],
        getters: Sequence[Callable[[], Any]],
        setter: Callable[[Sequence[Any]], None],
        read: Sequence[str] | None = None,
        augmented: Sequence[str] = (),
    ) -> None:
        self.names, self.live, self.getters, self.setter = names, set(live), getters, setter
        self.taken, self.augmented = self.live if read is None else set(read), set(augmented)
        # The places that branches wrote to: they are slots, after the variables.
        self._found: list[Place] = []

    def slots(self) -> list[Slot]:
        """All slots: variables, then the places that were found."""
        slots = [Slot(n, n in self.live) for n in self.names]
        for owner, name in self._found:
            label = f"{type(owner).__name__}.{name}" if name else f"the {type(owner).__name__}"
            slots.append(Slot(label, True))
        return slots

    def add(self, places: Sequence[Place]) -> list[Any]:
        """Know of more places, which a branch wrote to.

        Args:
            places: those that are not slots yet.

        Returns:
            What they hold.
        """
        self._found += places
        return [value_at(owner, name) for owner, name in places]

    def is_taken(self, n: int) -> bool:
        """Whether an iteration may use what a slot had after the iteration before."""
        return n >= len(self.names) or self.names[n] in self.taken

    def has(self, owner: Any, name: str | None) -> bool:
        """Whether a place is one of the slots."""
        return any(o is owner and n == name for o, n in self._found)

    def note_one_sided(self, n: int) -> None:
        """Remember an attribute that one side of a decision, or an iteration, alone sets.

        Args:
            n: the slot; nothing is done for variables and containers.
        """
        owner, name = self.place(n)
        if owner is not None and name is not None:
            note_one_sided(owner, name)

    def fails_unset(self, n: int) -> bool:
        """Whether a read of a slot fails where the slot is not set.

        Only such a slot may be left unset where its values cannot be one.  What is read of a
        container, or of an attribute that its class has, too, would be that of one side alone.

        Args:
            n: the slot.
        """
        owner, name = self.place(n)
        if owner is None:
            return False
        return isinstance(owner, CellType) or (name is not None and not hasattr(type(owner), name))

    def place(self, n: int) -> tuple[Any, str | None]:
        """The object and the attribute of a slot; None and nothing for variables."""
        return self._found[n - len(self.names)] if n >= len(self.names) else (None, "")

    def owner(self, n: int) -> Any:
        """The container of a slot; None for other slots."""
        owner, name = self.place(n)
        return owner if name is None else None

    def read(self) -> list[Any]:
        """The values of all slots."""
        values: list[Any] = []
        for getter in self.getters:
            try:
                values.append(getter())
            except NameError:
                values.append(UNSET)
        return values + [value_at(owner, name) for owner, name in self._found]

    def contents(self, values: Sequence[Any]) -> dict[tuple[int, str | None], Any]:
        """What attributes and containers hold in the values of all slots, by their identity."""
        found = zip(self._found, values[len(self.names) :])
        return {(id(owner), name): value for (owner, name), value in found}

    def write(self, values: Sequence[Any]) -> None:
        """Give all slots values."""
        store = current()
        self.setter(values)
        for (owner, name), value in zip(self._found, values[len(self.names) :]):
            place = store_place(owner, name)
            if store is not None:
                store.log(place)
            if name is None:
                place.put(value)
            elif isinstance(place, Attribute):
                place.put(MISSING if value is UNSET else value)  # not by the user's `__setattr__`
            elif value is UNSET:
                if hasattr(owner, name):
                    delattr(owner, name)
            elif getattr(owner, name, UNSET) is not value or name in getattr(owner, "_buffers", ()):
                # Torch remembers the node that was assigned to a buffer last.
                setattr(owner, name, value)


def value_at(owner: Any, name: str | None) -> Any:
    """What an attribute holds, `UNSET` without a value; the items of a container."""
    if name is None:
        return items_of(owner)
    return getattr(owner, name, UNSET) if _is_stored(owner, name) else UNSET


def _is_stored(owner: Any, name: str) -> bool:
    """Whether an object, or its class, has an attribute; a `__getattr__` is not called."""
    own = getattr(owner, "__dict__", {})
    if name in own or hasattr(owner if isinstance(owner, type) else type(owner), name):
        return True
    return any(name in (own.get(n) or ()) for n in ("_parameters", "_buffers", "_modules"))


class Globals:
    """The globals of a file, as attributes."""

    known: ClassVar[weakref.WeakValueDictionary[int, Globals]] = weakref.WeakValueDictionary()

    def __init__(self, names: dict[str, Any]) -> None:
        self.__dict__ = names

    @classmethod
    def of(cls, names: dict[str, Any]) -> Globals:
        """One object for each file."""
        found = cls.known.get(id(names))
        if found is None or vars(found) is not names:
            found = cls(names)
            cls.known[id(names)] = found
        return found


def store_place(owner: Any, name: str | None) -> StorePlace:
    """A place as the store knows it."""
    if name is None:
        return Items(owner)
    if isinstance(owner, Globals):
        return Variable(vars(owner), name)
    return Cell(owner, None) if isinstance(owner, CellType) else attribute(owner, name)


def result_of(
    decide: Callable[[Branch, Branch, State], None],
    then: Callable[[], Any],
    orelse: Callable[[], Any],
) -> Any:
    """What a decision between two expressions gives.

    Args:
        decide: decides between two branches that change a state.
        then, orelse: the expressions.

    Returns:
        The value of the one, or what stands for either.
    """
    box: list[Any] = [UNSET]

    def put(value: Any) -> None:
        box[0] = value

    names = ("the value",)
    state = State(names, names, (lambda: box[0],), lambda values: put(values[0]))
    decide(lambda: put(then()), lambda: put(orelse()), state)
    return box[0]
