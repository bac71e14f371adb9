"""Lists, dicts and dataclasses that a loop carries and that have a second name.

`now = a` before a loop, and `now = b` in it: the loop carries `now` as an object of its own.  Where
Python changes `now`, `a` or `b` would change, too, and the other way round: that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.control.reaching import named_now
from onnxwright.exporter.capture.decisions.chosen_objects import Chosen, add_chosen, is_object
from onnxwright.exporter.capture.model_lines import model_line
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.parts import parts_of

_Path = tuple[Any, ...]


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
        self.named = named_now([old for old, _ in self.copies.values()])

    def note_iteration(self, after: Mapping[int, Any], written: Sequence[Any]) -> None:
        """See what an iteration leaves.

        Args:
            after: what is carried after it, by its place; other variables are as before it.
            written: the objects that it writes to.
        """
        self.ends: dict[_Path, list[Any]] = {}
        self.inner: dict[_Path, Chosen] = {}
        self.written = written
        session = current()
        chosen = [] if session is None else session.chosen[self.choices :]
        for n, value in after.items():
            for path, end, _ in _objects(value, value, (n,)):
                self.ends[path] = [end]
                for choice in chosen:
                    if any(v is end for v in choice.objects):
                        self.ends[path] += choice.objects
                        self.inner[path] = choice

    def check(self) -> None:
        """Refuse an iteration that changes an object with a second name; variables are as before.

        Raises:
            ChosenChangedError: it does.
        """
        named = named_now([v for path in self.copies for v in self.ends.get(path, ())])
        for path, (old, new) in self.copies.items():
            ends = self.ends.get(path, [])
            if any(end is new for end in ends[:1]):
                ends = ends[1:]
            shared = [old] if id(old) in self.named else []
            shared += [v for v in ends
                       if v is not new and (id(v) in named or self._twice(v, path))]  # fmt: skip
            if shared and any(v is w for v in (new, *shared) for w in self.written):
                raise self.inner.get(path, Chosen((), model_line(), in_loop=True)).error(new)

    def _twice(self, value: Any, path: _Path) -> bool:
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
        found = {path: end for n, value in results.items()
                 for path, end, _ in _objects(value, value, (n,))}  # fmt: skip
        olds = {path: [*self.copies.get(path, ())[:1], *self.ends.get(path, ())] for path in found}
        named = named_now([v for kept in olds.values() for v in kept])
        for path, result in found.items():
            kept = [v for v in olds[path] if v is not result and id(v) in named]
            kept += [
                other for place, other in found.items()
                if place != path and other is not result
                and (place[0] not in self.returned or path[0] in self.returned)
                and any(v is end for v in olds[path] for end in self.ends.get(place, ()))
            ]  # fmt: skip
            if kept:
                frame = self.returned.get(path[0])
                add_chosen([Chosen((result, *kept), model_line(), True, frame)])


def _objects(one: Any, two: Any, path: _Path) -> Iterator[tuple[_Path, Any, Any]]:
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
