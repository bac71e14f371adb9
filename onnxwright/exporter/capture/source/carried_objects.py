"""Lists, dicts and dataclasses that a loop carries and that have a second name.

`now = a` before a loop, and `now = b` in it: the loop carries `now` as an object of its own.  Where
Python changes `now`, `a` or `b` would change, too, and the other way round: that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.source.chosen_objects import Chosen, held_by, is_object
from onnxwright.exporter.capture.source.errors import ChosenChangedError
from onnxwright.exporter.capture.source.holding import is_same_items
from onnxwright.exporter.capture.source.reach import Reach
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.capture.values.parts import parts_of


class CarriedObjects:
    """The objects that a loop carries, and the other names that they have.

    Args:
        before: what is carried, as it is before the loop, by its place.
        given: what stands for it in an iteration.
        choices: how many choices of objects there were before.
        returned: the places of what the function returns, with its frame.
    """

    def __init__(
        self, before: Mapping[int, Any], given: Mapping[int, Any], choices: int,
        returned: Mapping[int, FrameType | None],
    ) -> None:  # fmt: skip
        self.choices, self.returned = choices, returned
        # The object of before, and what stands for it, by place and path.
        self.copies = {
            path: (old, new) for n, value in given.items()
            for path, old, new in _objects(before[n], value, (n,))
            if old is not new and n not in returned
        }  # fmt: skip
        if self.copies:
            self.effects = Reach()
            self.held = {id(new): (new, held_by(new)) for _, new in self.copies.values()}
            self.others = [old for old, _ in self.copies.values() if self.effects.holds(old)]
            self.held |= {id(old): (old, held_by(old)) for old in self.others}

    def note_iteration(self, after: Mapping[int, Any]) -> None:
        """See what an iteration changed.

        Args:
            after: what is carried after it, by its place; other variables are as before it.
        """
        self.ends: dict[tuple[Any, ...], list[Any]] = {}
        session = current()
        chosen = [] if session is None else session.chosen[self.choices :]
        for n, value in after.items():
            for path, end, _ in _objects(value, value, (n,)):
                self.ends[path] = [end]
                for choice in chosen:
                    if any(v is end for v in choice.objects):
                        self.ends[path] += choice.objects
        if not self.copies:
            return
        changed = {id(v) for v, held in self.held.values() if not is_same_items(held_by(v), held)}
        changed |= {id(v) for v, kept in self.effects.containers if not is_same_items(v, kept)}
        self.changed = changed

    def check(self) -> None:
        """Refuse an iteration that changes an object with a second name.

        Raises:
            ChosenChangedError: it does.
        """
        if not self.copies:
            return
        now = Reach()
        for path, (old, new) in self.copies.items():
            ends = self.ends.get(path, [])
            if any(end is new for end in ends[:1]):
                ends = ends[1:]
            shared = [v for v in self.others if v is old]
            shared += [v for v in ends if v is not new and (now.holds(v) or self._twice(v, path))]
            if shared and any(id(v) in self.changed for v in (new, *shared)):
                raise ChosenChangedError(type(new).__name__, in_loop=True)

    def _twice(self, value: Any, path: tuple[Any, ...]) -> bool:
        """Whether another variable has an object after an iteration, too."""
        return any(
            v is value for other, ends in self.ends.items()
            if other != path and other[0] not in self.returned for v in ends
        )  # fmt: skip

    def note_results(self, results: Mapping[int, Any]) -> None:
        """Remember the objects that are carried after the last iteration.

        Args:
            results: them, by their place.
        """
        session = current()
        if not self.ends or session is None:
            return
        now = Reach()
        found = {path: end for n, value in results.items()
                 for path, end, _ in _objects(value, value, (n,))}  # fmt: skip
        for path, result in found.items():
            olds = [*self.copies.get(path, ())[:1], *self.ends.get(path, ())]
            kept = [v for v in olds if v is not result and now.holds(v)]
            kept += [
                other for place, other in found.items()
                if place != path and other is not result
                and (place[0] not in self.returned or path[0] in self.returned)
                and any(v is end for v in olds for end in self.ends.get(place, ()))
            ]  # fmt: skip
            if kept:
                objects = (result, *kept)
                held = tuple(held_by(value) for value in objects)
                frame = self.returned.get(path[0])
                made = Chosen(objects, held, asking_line(), in_loop=True, returned_by=frame)
                session.chosen.append(made)


def _objects(
    one: Any, two: Any, path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """The objects in two values of one structure that may be changed, with where they are."""
    if is_object(one) and (
        kind_of(one) is kind_of(two) or (isinstance(one, list) and isinstance(two, list))
    ):
        yield path, one, two
    parts, others = parts_of(one), parts_of(two)
    if parts is None or others is None or parts[0] != others[0]:
        return
    for key, a, b in zip(parts[0], parts[1], others[1]):
        yield from _objects(a, b, (*path, key))
