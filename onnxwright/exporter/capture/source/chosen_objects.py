"""Objects that a decision chose: a change of them, or of what they were chosen from, is refused.

`c = a if test else b` of two lists makes a third one for `c`. Python would change `a` or `b` where
`c` changes, and the other way round.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from types import FrameType
from typing import Any

from onnxwright.exporter.capture.source.errors import ChosenChangedError
from onnxwright.exporter.capture.source.holding import is_container, is_same_items, items_of
from onnxwright.exporter.capture.source.reach import Reach
from onnxwright.exporter.capture.source.returned import is_running
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.places import line_of


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Objects of which one stands for another, and what they held when they were chosen.

    Fields:
        objects: what was made, and what it was made of.
        held: their items.
        place: the file and line of the decision.
        in_loop: whether the iterations of a loop chose it.
        returned_by: the function that has returned it, on one side; None for other objects.
    """

    objects: tuple[Any, ...]
    held: tuple[Any, ...]
    place: tuple[str, int]
    in_loop: bool = False
    returned_by: FrameType | None = None


def note_chosen(
    made: Iterable[tuple[Any, Any, Any]], effects: Reach, returned_by: FrameType | None = None
) -> None:
    """Remember the objects that a decision chose, if the program has one of them elsewhere, too.

    Args:
        made: for each, that of each side, and what stands for both.
        effects: what the program reached before the decision.
        returned_by: the function that a side returned them from.
    """
    session = current()
    given = [
        (new, [old for old in (one, two) if effects.holds(old)])
        for one, two, new in made
        if is_object(new)
    ]
    if session is None or not any(old for _, old in given):
        return
    now = Reach()
    for new, olds in given:
        kept = [old for old in olds if now.holds(old)]
        if kept:
            objects = (new, *kept)
            held = tuple(held_by(value) for value in objects)
            session.chosen.append(Chosen(objects, held, asking_line(), returned_by=returned_by))


def chosen_so_far() -> int:
    """How many choices are remembered."""
    session = current()
    return 0 if session is None else len(session.chosen)


def forget_chosen(count: int) -> None:
    """Forget the choices of a part that is run again, all but as many."""
    session = current()
    if session is not None:
        del session.chosen[count:]


def take_chosen(count: int) -> list[Chosen]:
    """The choices of a side, all but as many; the other side does not know them."""
    session = current()
    found = [] if session is None else session.chosen[count:]
    forget_chosen(count)
    return found


def add_chosen(choices: Iterable[Chosen]) -> None:
    """Know the choices of both sides again."""
    session = current()
    if session is not None:
        session.chosen += choices


def renew_chosen(count: int) -> None:
    """Know what the objects of choices in a part hold after it, all but as many choices."""
    session = current()
    if session is not None:
        for n, chosen in enumerate(session.chosen):
            if n < count and not is_running(chosen.returned_by):
                continue
            held = tuple(held_by(value) for value in chosen.objects)
            session.chosen[n] = dataclasses.replace(chosen, held=held)


def check_chosen() -> None:
    """Refuse a program, or a part of one, that changed what a decision had chosen.

    Raises:
        ChosenChangedError: it did.
    """
    session = current()
    for chosen in session.chosen if session is not None else ():
        # What a function still does, it does on the way that has not returned.
        if is_running(chosen.returned_by):
            continue
        for value, held in zip(chosen.objects, chosen.held):
            if not is_same_items(held_by(value), held):
                error = ChosenChangedError(type(value).__name__, in_loop=chosen.in_loop)
                error.span = line_of(*chosen.place)
                raise error


def is_object(value: Any) -> bool:
    """Whether a value is a container or a dataclass, which may be changed in place."""
    return is_container(value) or _is_data(value)


def _is_data(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def held_by(value: Any) -> Any:
    """The items or fields of an object, as they are now."""
    if is_container(value):
        return items_of(value)
    return {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
