"""Objects that stand for others which have names of their own: a write to one of them is refused.

`c = a if test else b` of two lists of one structure makes a third one for `c`.  Python would change
`a` or `b` where `c` changes, and the other way round.  Where the program does that, `c` is one of
both by reference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any

import torch

from onnxwright.exporter.capture.control.places import is_container
from onnxwright.exporter.capture.control.reaching import named_now
from onnxwright.exporter.capture.session.errors import ChosenChangedError
from onnxwright.exporter.capture.session.model_lines import is_running, model_line
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.places import line_of


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Objects of which one stands for another.

    Fields:
        objects: what was made, and what it was made of.
        place: the file and line of the decision.
        in_loop: whether the iterations of a loop chose it.
        returned_by: the function that has returned it, on one side; None for other objects.
        is_item: whether it is an item of a list of run-time length, which has its tensors only.
    """

    objects: tuple[Any, ...]
    place: tuple[str, int]
    in_loop: bool = False
    returned_by: FrameType | None = None
    is_item: bool = False

    def error(self, value: Any) -> ChosenChangedError:
        """The error for a write to one of them."""
        error = ChosenChangedError(type(value).__name__, in_loop=self.in_loop, is_item=self.is_item)
        error.span = line_of(*self.place)
        return error


def note_item(item: Any) -> None:
    """Remember an item of a list of run-time length: the list does not see a change of it.

    Args:
        item: a tuple, dict or dataclass that the list was given, or that was made where it is read.
    """
    session = current()
    if session is None or isinstance(item, torch.Tensor):
        return
    if is_object(item):
        session.chosen.append(Chosen((item,), model_line(), is_item=True))
    for part in parts_in(item):
        note_item(part)


def parts_in(value: Any) -> list[Any]:
    """What a container or a dataclass holds."""
    if isinstance(value, dict):
        return list(value.values())
    if is_container(value) or isinstance(value, tuple):
        return list(value)
    fields = dataclasses.fields(value) if is_object(value) else ()
    return [getattr(value, field.name, None) for field in fields]


def note_chosen(
    joined_objects: Sequence[tuple[Any, Any, Any]], returned_by: Sequence[FrameType | None]
) -> None:
    """Remember the objects that a decision made, if the program has those of a side elsewhere, too.

    Args:
        joined_objects: for each, that of each side, and what stands for both.
        returned_by: for each, the function that a side returned them from.
    """
    session = current()
    if session is None or not joined_objects:
        return
    every = [old for one, two, _ in joined_objects for old in (one, two)]
    named = named_now(every)
    for (one, two, new), frame in zip(joined_objects, returned_by):
        kept = [old for old in (one, two) if id(old) in named]
        kept += [
            other for a, b, other in joined_objects if other is not new and (a is one or b is two)
        ]
        if kept:
            session.chosen.append(Chosen((new, *kept), model_line(), returned_by=frame))


def refuse_write(owner: Any) -> None:
    """Refuse a write to an object that stands for another one.

    Args:
        owner: what is written to.

    Raises:
        ChosenChangedError: it does.
    """
    chosen = choice_of(owner)
    if chosen is not None:
        raise chosen.error(owner)


def choice_of(value: Any) -> Chosen | None:
    """The choice of an object that stands for another one, or for which another one stands."""
    session = current()
    every: list[Chosen] = [] if session is None else session.chosen
    for chosen in every:
        # What a function still does, it does on the way that has not returned.
        if any(one is value for one in chosen.objects) and not is_running(chosen.returned_by):
            return chosen
    return None


def chosen_so_far() -> int:
    """How many choices are remembered."""
    session = current()
    return 0 if session is None else len(session.chosen)


def take_chosen(count: int) -> list[Chosen]:
    """The choices of a side, all but as many; the other side does not know them."""
    session = current()
    choices = [] if session is None else session.chosen[count:]
    if session is not None:
        del session.chosen[count:]
    return choices


def add_chosen(choices: Iterable[Chosen]) -> None:
    """Know the choices of both sides again."""
    session = current()
    if session is not None:
        session.chosen += choices


def is_object(value: Any) -> bool:
    """Whether a value is a container or a dataclass, which may be changed in place."""
    is_data = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return is_container(value) or is_data
