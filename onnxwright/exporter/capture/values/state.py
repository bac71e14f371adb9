"""The variables, attributes and containers that branches of a decision change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from onnxwright.exporter.capture.control.places import (
    MISSING,
    Attribute,
    Cell,
    Items,
    ModuleAttribute,
    Place,
    Variable,
)
from onnxwright.exporter.capture.control.store import current
from onnxwright.exporter.capture.session.errors import CaughtError
from onnxwright.exporter.capture.session.session import refused_here
from onnxwright.exporter.capture.values.one_sided import (
    class_written,
    classes_above,
    note_inherited,
    note_one_sided,
)


class _Unset:
    """Stands for a variable without a value."""

    def __repr__(self) -> str:
        return "no value"


UNSET = _Unset()
Branch = Callable[[], None]


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
        caught: those that are read where an `except` takes that they have no value -> its line.
    """

    def __init__(
        self,
        names: Sequence[str],
        live: Sequence[str],
        getters: Sequence[Callable[[], Any]],
        setter: Callable[[Sequence[Any]], None],
        read: Sequence[str] | None = None,
        augmented: Sequence[str] = (),
        caught: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.names, self.live, self.getters, self.setter = names, set(live), getters, setter
        self.taken, self.augmented = self.live if read is None else set(read), set(augmented)
        self.caught = caught
        # The places that branches wrote to: they are slots, after the variables.
        self._places: list[Place] = []
        # The slots of objects that had the attribute of their class.
        self._inherited: set[int] = set()

    def slots(self) -> list[Slot]:
        """All slots: variables, then the places that were found."""
        slots = [Slot(n, n in self.live) for n in self.names]
        for place in self._places:
            kind, name = type(place.owner).__name__, place.name
            label = f"{kind}.{name}" if isinstance(place, (Attribute, ModuleAttribute)) else name
            slots.append(Slot(label or f"the {kind}", True))
        return slots

    def add(self, places: Sequence[Place]) -> list[Any]:
        """Know of more places, which a branch wrote to.

        Args:
            places: those that are not slots yet.

        Returns:
            What they hold.
        """
        for n, place in enumerate(places, len(self.names) + len(self._places)):
            if is_inherited(place):
                self._inherited.add(n)
        self._places += places
        return [value_at(place) for place in places]

    def on_other_side(self, values: Sequence[Any], held: Sequence[Any]) -> list[Any]:
        """What places that were added last hold on a side that did not write to them.

        Args:
            values: of the slots before them, on that side.
            held: what the places held before both sides.
        """
        slots_of_classes = [self._of_class(n) for n in range(len(values), len(values) + len(held))]
        return [
            values[n] if n is not None and n < len(values) else v
            for n, v in zip(slots_of_classes, held)
        ]

    def _of_class(self, n: int) -> int | None:
        """The slot of the attribute of a class that an object has which had none of its own."""
        place = self.place(n) if n in self._inherited else None
        if place is None:
            return None
        slots = {one.key: m for m, one in enumerate(self._places, len(self.names))}
        for kind in classes_above(place.owner):
            key = Attribute(kind, place.name).key
            if key in slots or place.name in vars(kind):
                return slots.get(key)
        return None

    def note_inherited(self, n: int, *, in_loop: bool = False) -> None:
        """Remember an attribute that an object has of its own on one side, or after an iteration.

        Args:
            n: the slot; nothing is done for others.
            in_loop: whether the next iteration may write to the attribute of the class.

        Raises:
            CannotRewriteError: the iteration writes to that, too.
        """
        place = self.place(n) if n in self._inherited else None
        if place is not None:
            if in_loop and self._of_class(n) is not None:
                raise class_written(classes_above(place.owner)[0], str(place.name))
            note_inherited(place.owner, str(place.name))

    def is_taken(self, n: int) -> bool:
        """Whether an iteration may use what a slot had after the iteration before."""
        return n >= len(self.names) or self.names[n] in self.taken

    def has(self, place: Place) -> bool:
        """Whether a place is one of the slots."""
        return any(place.key == one.key for one in self._places)

    def place(self, n: int) -> Place | None:
        """The place of a slot; None for variables."""
        return self._places[n - len(self.names)] if n >= len(self.names) else None

    def owner(self, n: int) -> Any:
        """The container of a slot; None for other slots."""
        place = self.place(n)
        return place.owner if isinstance(place, Items) else None

    def note_one_sided(self, n: int) -> None:
        """Remember an attribute that one side of a decision, or an iteration, alone sets.

        Args:
            n: the slot; nothing is done for containers.

        Raises:
            CaughtError: it is a variable, and the model catches that it has no value.
        """
        place = self.place(n)
        if place is None and self.names[n] in self.caught:
            with refused_here():
                raise CaughtError("UnboundLocalError", self.caught[self.names[n]])
        if place is not None and place.name is not None:
            note_one_sided(place.owner, place.name)

    def fails_unset(self, n: int) -> bool:
        """Whether a read of a slot fails where the slot is not set.

        Only such a slot may be left unset where its values cannot be one.  What is read of a
        container, or of an attribute that its class has, too, would be that of one side alone.

        Args:
            n: the slot.
        """
        place = self.place(n)
        if isinstance(place, (Attribute, ModuleAttribute)):
            return not hasattr(type(place.owner), str(place.name))
        return isinstance(place, (Cell, Variable))

    def read(self) -> list[Any]:
        """The values of all slots."""
        values: list[Any] = []
        for getter in self.getters:
            try:
                values.append(getter())
            except NameError:
                values.append(UNSET)
        return values + [value_at(place) for place in self._places]

    def contents(self, values: Sequence[Any]) -> dict[tuple[int, str | None], Any]:
        """What attributes and containers hold in the values of all slots, by their identity."""
        places_and_values = zip(self._places, values[len(self.names) :])
        return {(id(place.owner), place.name): value for place, value in places_and_values}

    def write(self, values: Sequence[Any]) -> None:
        """Give all slots values."""
        store = current()
        self.setter(values)
        for place, value in zip(self._places, values[len(self.names) :]):
            if is_inherited(place) and value is value_at(place):
                continue
            if store is not None:
                store.log(place)
            if isinstance(place, ModuleAttribute):
                _set(place.owner, str(place.name), value)
            else:
                place.put(MISSING if value is UNSET else value)  # not by the user's `__setattr__`


def _set(owner: Any, name: str, value: Any) -> None:
    """Give a module an attribute, or none."""
    if value is UNSET:
        if hasattr(owner, name):
            delattr(owner, name)
    elif getattr(owner, name, UNSET) is not value or name in owner._buffers:
        # Torch remembers the node that was assigned to a buffer last.
        setattr(owner, name, value)


def is_inherited(place: Place) -> bool:
    """Whether an object, or a class, has an attribute of a class above it, and none of its own."""
    if not isinstance(place, (Attribute, ModuleAttribute)):
        return False
    held = place.read()
    is_own = any(v is not MISSING for v in (held if isinstance(place, ModuleAttribute) else [held]))
    return not is_own and any(place.name in vars(k) for k in classes_above(place.owner))


def value_at(place: Place) -> Any:
    """What a read of a place gives: an attribute may be that of the class; `UNSET` for nothing."""
    if isinstance(place, (Attribute, ModuleAttribute)):
        owner, name = place.owner, str(place.name)
        return getattr(owner, name, UNSET) if _is_stored(owner, name) else UNSET
    value = place.read()
    return UNSET if value is MISSING else value


def _is_stored(owner: Any, name: str) -> bool:
    """Whether an object, or its class, has an attribute; a `__getattr__` is not called."""
    own = getattr(owner, "__dict__", {})
    if name in own or hasattr(owner if isinstance(owner, type) else type(owner), name):
        return True
    return any(name in (own.get(n) or ()) for n in ("_parameters", "_buffers", "_modules"))


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
