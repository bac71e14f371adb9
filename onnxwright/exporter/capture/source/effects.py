"""What the functions that a side calls change: attributes, globals, outer variables, containers.

A side of a decision is code of one function, and what that code itself binds is known.  What the
functions that it calls change is found by comparing: all that the frames of the model reach is kept
before a side runs, and is compared afterwards.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Iterator
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any, ClassVar

import torch

from onnxwright.exporter.capture.source.merging import is_leaf, parts_of
from onnxwright.exporter.capture.source.state import Place, State
from onnxwright.exporter.places import HOME, STDLIB, TORCH

# How far objects are followed from a variable, and how many of them.
_DEPTH = 3
_MOST = 3000
_PLAIN = (int, float, bool, str, bytes, complex, type(None))


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
        self.containers: list[tuple[Any, Any]] = []
        self.cells: list[tuple[CellType, str, Any]] = []
        self._seen: set[int] = set()
        waiting = [(value, 0) for value in self._of_frames()]
        for _, names, _ in self.attributes:
            waiting += [(v, _DEPTH) for v in names.values() if type(v) in (list, dict, set)]
        for value, depth in waiting:
            if id(value) in self._seen or len(self._seen) > _MOST:
                continue
            self._seen.add(id(value))
            inner = self._keep(value)
            if depth < _DEPTH:
                waiting += [(v, depth + 1) for v in inner if type(v) not in _PLAIN]

    def check(self, state: State) -> None:
        """Undo what was changed since, if a state does not know of it.

        Raises:
            MorePlacesError: something was.
        """
        found: list[Place] = []
        for owner, now, before in self.attributes:
            for name in [n for n in {**before, **now} if _differs(before, now, n)]:
                if state.has(owner, name):
                    continue
                found.append((owner, name))
                if name in before:
                    now[name] = before[name]
                else:
                    del now[name]
        for owner, kept in self.containers:
            if not _same_items(owner, kept) and not state.has(owner, None):
                found.append((owner, None))
                if isinstance(owner, list):
                    owner[:] = kept
                else:
                    owner.clear()
                    owner.update(kept)
        for cell, name, kept in self.cells:
            value = _contents(cell)
            if value is kept or _is_same(value, kept) or name in state.names:
                continue
            if not state.has(cell, "cell_contents"):
                found.append((cell, "cell_contents"))
                cell.cell_contents = kept
        if found:
            raise MorePlacesError(found)

    def _of_frames(self) -> Iterator[Any]:
        """The variables of the model's frames, and the files of these."""
        frame: FrameType | None = sys._getframe(2)
        files: dict[int, dict[str, Any]] = {}
        while frame is not None and frame.f_code.co_name != "by_source":
            if not frame.f_code.co_filename.startswith((HOME, TORCH, *STDLIB, "<frozen")) or (
                "site-packages" in frame.f_code.co_filename
                and not frame.f_code.co_filename.startswith(TORCH)
            ):
                yield from list(frame.f_locals.values())
                files[id(frame.f_globals)] = frame.f_globals
            frame = frame.f_back
        for names in list(files.values()):
            for value in list(names.values()):
                if isinstance(value, FunctionType) and _is_users(value.__module__):
                    files.setdefault(id(value.__globals__), value.__globals__)
        for names in files.values():
            self.attributes.append((_Globals.of(names), names, dict(names)))

    def _keep(self, value: Any) -> Iterable[Any]:
        """Remember what a value holds; what it leads to."""
        if type(value) in (list, dict, set):
            self.containers.append((value, value.copy()))
            return list(value.values()) if isinstance(value, dict) else list(value)
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
                if type(v) not in _PLAIN and not n.startswith("_")
            ]
        if isinstance(value, (torch.Tensor, type, ModuleType)) or not hasattr(value, "__dict__"):
            return ()
        if _is_users(type(value).__module__):
            self.attributes.append((value, vars(value), dict(vars(value))))
            return list(vars(value).values())
        return ()

    def _keep_cells(self, function: FunctionType) -> Iterable[Any]:
        found = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if id(cell) not in self._seen and not name.startswith("_ow_"):
                self._seen.add(id(cell))
                self.cells.append((cell, name, _contents(cell)))
                found.append(_contents(cell))
        return found


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
    return one is not two and not _is_same(one, two) and _counts(one, two)


def _is_same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and type(one) in _PLAIN and bool(one == two)


def _counts(one: Any, two: Any) -> bool:
    """Whether a change is one that a decision can give: of numbers, tensors and containers."""
    return any(is_leaf(v) or parts_of(v) is not None for v in (one, two))


def _same_items(container: Any, kept: Any) -> bool:
    if len(container) != len(kept):
        return False
    if isinstance(container, dict):
        return all(
            a is b and (container[a] is kept[b] or _is_same(container[a], kept[b]))
            for a, b in zip(container, kept)
        )
    return all(a is b or _is_same(a, b) for a, b in zip(container, kept))
