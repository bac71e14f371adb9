"""What the functions that a side calls change: attributes, globals, outer variables, containers.

A side of a decision is code of one function, and what that code itself binds is known.  What the
functions that it calls change is found by comparing: all that the frames of the model reach is kept
before a side runs, and is compared afterwards.
"""

from __future__ import annotations

import sys
import weakref
from argparse import Namespace
from collections.abc import Iterable, Iterator
from types import CellType, FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, ClassVar

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.source.errors import ChangedInPlaceError
from onnxwright.exporter.capture.source.holding import (
    PLAIN,
    give_items,
    is_container,
    is_same,
    is_same_items,
    items_of,
    position,
    slots_of,
)
from onnxwright.exporter.capture.source.iterators import Once, kind_of
from onnxwright.exporter.capture.source.merging import is_leaf, parts_of
from onnxwright.exporter.capture.source.state import Place, State

# How far objects are followed from a variable, and how many of them.
_DEPTH = 3
_MOST = 3000
_NAMESPACES = (SimpleNamespace, Namespace)


class MorePlacesError(Exception):
    """A side changes more than was known.

    Args:
        places: what it changes.
    """

    def __init__(self, places: list[Place]) -> None:
        super().__init__("a side changes more than was known")
        self.places = places


class _Globals:
    """The globals of a file, as attributes."""

    known: ClassVar[weakref.WeakValueDictionary[int, _Globals]] = weakref.WeakValueDictionary()

    def __init__(self, names: dict[str, Any]) -> None:
        self.__dict__ = names

    @classmethod
    def of(cls, names: dict[str, Any]) -> _Globals:
        """One object for each file."""
        found = cls.known.get(id(names))
        if found is None or vars(found) is not names:
            found = cls(names)
            cls.known[id(names)] = found
        return found


class Effects:
    """What the model's frames reach, as it is now."""

    def __init__(self) -> None:
        self.attributes: list[tuple[Any, dict[str, Any], dict[str, Any]]] = []
        self.slots: list[tuple[Any, dict[str, Any]]] = []
        self.containers: list[tuple[Any, Any]] = []
        self.cells: list[tuple[CellType, str, Any]] = []
        self.others: list[tuple[Any, Any]] = []
        self._seen: set[int] = set()
        waiting = [(value, 0) for value in self._of_frames()]
        for _, names, _ in self.attributes:
            waiting += [(v, _DEPTH) for v in names.values() if is_container(v)]
        for value, depth in waiting:
            if id(value) in self._seen or len(self._seen) > _MOST:
                continue
            self._seen.add(id(value))
            inner = self._keep(value)
            if depth < _DEPTH:
                waiting += [(v, depth + 1) for v in inner if type(v) not in PLAIN]

    def check(self, state: State) -> None:
        """Undo what was changed since, if a state does not know of it.

        Raises:
            MorePlacesError: something was.
            ChangedInPlaceError: an object was that cannot be given back what it held.
        """
        found = [
            place for place in self.changes()
            if not state.has(*place) and not self._is_variable(state, place[0])
        ]  # fmt: skip
        self._undo(found)
        if found:
            raise MorePlacesError(found)

    def undo(self) -> bool:
        """Undo all that was changed since; whether anything was.

        Raises:
            ChangedInPlaceError: an object was that cannot be given back what it held.
        """
        found = self.changes()
        self._undo(found)
        return bool(found)

    def changes(self) -> list[Place]:
        """The places that hold something else than before.

        Raises:
            ChangedInPlaceError: an object was changed that cannot be given back what it held.
        """
        for value, before in self.others:
            if position(value) != before:
                error = ChangedInPlaceError(kind_of(value))
                if isinstance(value, Iterator):
                    error.makers = list(_model_frames())
                raise error
        found: list[Place] = []
        for owner, now, before in self.attributes:
            found += [(owner, n) for n in {**before, **now} if _differs(before, now, n)]
        for owner, before in self.slots:
            now = slots_of(owner)
            found += [(owner, n) for n in {**before, **now} if _differs(before, now, n)]
        found += [
            (owner, None) for owner, kept in self.containers if not is_same_items(owner, kept)
        ]
        for cell, _, kept in self.cells:
            value = _contents(cell)
            if value is not kept and not is_same(value, kept):
                found.append((cell, "cell_contents"))
        return found

    def has_new_keys(self) -> bool:
        """Whether a dict has more keys than before."""
        return any(
            isinstance(owner, dict) and len(owner) > len(kept) for owner, kept in self.containers
        )

    def _is_variable(self, state: State, owner: Any) -> bool:
        """Whether a place is a variable that a state binds."""
        return isinstance(owner, CellType) and any(
            cell is owner and name in state.names for cell, name, _ in self.cells
        )

    def _undo(self, places: list[Place]) -> None:
        """Give places what they held."""
        wanted = {(id(owner), name) for owner, name in places}
        for owner, now, before in self.attributes:
            for name in [n for n in {**before, **now} if (id(owner), n) in wanted]:
                if name in before:
                    now[name] = before[name]
                else:
                    now.pop(name, None)
        for owner, before in self.slots:
            for name in [n for n in {**before, **slots_of(owner)} if (id(owner), n) in wanted]:
                if name in before:
                    setattr(owner, name, before[name])
                else:
                    delattr(owner, name)
        for owner, kept in self.containers:
            if (id(owner), None) in wanted:
                give_items(owner, kept)
        for cell, _, kept in self.cells:
            if (id(cell), "cell_contents") in wanted:
                if kept is _EMPTY:
                    del cell.cell_contents
                else:
                    cell.cell_contents = kept

    def holds(self, value: Any) -> bool:
        """Whether a container, or an object with attributes, was reached."""
        known = (self.containers, self.attributes, self.slots)
        return any(owner is value for kept in known for owner, *_ in kept)

    def ignore(self, value: Any) -> None:
        """Do not look at an iterator, which is used up."""
        self.others = [(other, before) for other, before in self.others if other is not value]

    def _of_frames(self) -> Iterator[Any]:
        """The variables of the model's frames, and the files of these."""
        files: dict[int, dict[str, Any]] = {}
        for frame in _model_frames():
            yield from list(frame.f_locals.values())
            files[id(frame.f_globals)] = frame.f_globals
        for names in list(files.values()):
            for value in list(names.values()):
                if isinstance(value, FunctionType) and _is_users(value.__module__):
                    files.setdefault(id(value.__globals__), value.__globals__)
        for names in files.values():
            self.attributes.append((_Globals.of(names), names, dict(names)))

    def _keep(self, value: Any) -> Iterable[Any]:
        """Remember what a value holds; what it leads to."""
        if is_container(value):
            items = items_of(value)
            self.containers.append((value, items))
            return [*(items.values() if isinstance(items, dict) else items), *self._own(value)]
        if isinstance(value, tuple):
            return value
        if isinstance(value, FunctionType):
            return self._keep_cells(value)
        if isinstance(value, torch.nn.Module):
            for module in value.modules():
                self._seen.add(id(module))
                for names in (vars(module), module._buffers):
                    self.attributes.append((module, names, dict(names)))
            return [
                v
                for m in value.modules()
                for n, v in vars(m).items()
                if type(v) not in PLAIN and not n.startswith("_")
            ]
        if isinstance(value, (torch.Tensor, type, ModuleType)):
            return ()
        if isinstance(value, Once):
            at = vars(value.position)
            self.attributes.append((value.position, at, dict(at)))
            return ()
        before = position(value)
        if before is not None:
            self.others.append((value, before))
        return self._own(value)

    def _own(self, value: Any) -> Iterable[Any]:
        """Remember the attributes of an object of the user; what they lead to."""
        if not _is_users(type(value).__module__) and not isinstance(value, _NAMESPACES):
            return ()
        found: list[Any] = []
        if hasattr(value, "__dict__"):
            self.attributes.append((value, vars(value), dict(vars(value))))
            found += vars(value).values()
        slots = slots_of(value)
        if slots or not hasattr(value, "__dict__"):
            self.slots.append((value, slots))
            found += slots.values()
        return found

    def _keep_cells(self, function: FunctionType) -> Iterable[Any]:
        found = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if id(cell) not in self._seen and not name.startswith("_ow_"):
                self._seen.add(id(cell))
                self.cells.append((cell, name, _contents(cell)))
                found.append(_contents(cell))
        return found


def _model_frames() -> Iterator[FrameType]:
    """The frames of the model that run now, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "by_source":
        file = frame.f_code.co_filename
        own = owner_of(file) in (Owner.USER, Owner.INSTALLED)
        if own or (file.startswith("<") and not file.startswith("<frozen")):
            yield frame
        frame = frame.f_back


_EMPTY = object()


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _is_users(module: str | None) -> bool:
    """Whether code is of the user or of a library that may keep state."""
    first = (module or "builtins").partition(".")[0]
    return first not in ("builtins", "torch", "onnxwright") and first not in sys.stdlib_module_names


def _differs(before: dict[str, Any], now: dict[str, Any], name: str) -> bool:
    one, two = before.get(name, _EMPTY), now.get(name, _EMPTY)
    return one is not two and not is_same(one, two) and _counts(one, two)


def _counts(one: Any, two: Any) -> bool:
    """Whether a change is one that a decision can give: of numbers, tensors and containers."""
    return any(is_leaf(v) or parts_of(v) is not None for v in (one, two))
