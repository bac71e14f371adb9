"""What a side of a decision can reach, before and after it: what nobody saw must be the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onnxwright.exporter.capture.control.errors import UnseenChangeError
from onnxwright.exporter.capture.control.held_objects import (
    Kept,
    Reached,
    is_pythons,
)
from onnxwright.exporter.capture.control.places import MISSING
from onnxwright.exporter.capture.control.settings import OF_SIDES
from onnxwright.exporter.capture.control.snapshot import Snapshot


class Picture:
    """What can be reached where a side begins: all of it is the same when the side has ended.

    The store takes back what converted code wrote; what is not the same was changed by code that it
    does not see: operators and other special methods of a class, functions of C, libraries.

    Args:
        snapshot: of the capture; None outside of one.
        functions: those that the side runs.
    """

    def __init__(self, snapshot: Snapshot | None, functions: Iterable[Any]) -> None:
        self._snapshot = snapshot
        self._held = [] if snapshot is None else [kept.items.read() for kept in snapshot.kept]
        self._settings = [setting.read() for setting in OF_SIDES]
        self._own = Reached({} if snapshot is None else snapshot.seen)
        for one in functions:
            self._own.look(one, "", of_module=False)

    def check(self, seen: frozenset[tuple[int, str | None]]) -> None:
        """Compare what can be reached with what it was.

        Args:
            seen: the places that converted code wrote to: the identity of the owner, and the name.

        Raises:
            UnseenChangeError: something else is not as it was.
        """
        for setting, value in zip(OF_SIDES, self._settings):
            if setting.read() != value:
                setting.put(value)
                raise UnseenChangeError(f"{setting.name} is changed", "setting", setting.name)
        kept = [] if self._snapshot is None else self._snapshot.kept
        held = [*self._held, *(one.before for one in kept[len(self._held) :])]
        pairs = [*zip(kept, held), *((one, one.before) for one in self._own.kept)]
        for one, before in pairs:
            if one.differs(before) and not _is_seen(one, before, seen):
                owner = one.items.owner if one.owner is None else one.owner
                kind = owner.__name__ if isinstance(owner, type) else type(owner).__name__
                raise UnseenChangeError(f"`{one.name or kind}` is changed", kind, one.name)


def _is_seen(kept: Kept, before: Any, seen: frozenset[tuple[int, str | None]]) -> bool:
    """Whether all that differs are places that converted code wrote to."""
    place = kept.items
    if (id(place.owner), place.name) in seen:
        return True
    if not kept.has_names:
        return False
    now = place.read()
    owner = place.owner if kept.owner is None else kept.owner
    names = [n for n in {**before, **now} if before.get(n, MISSING) is not now.get(n, MISSING)]
    return bool(names) and all(is_pythons(n) or (id(owner), n) in seen for n in names)
