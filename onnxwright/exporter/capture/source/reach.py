"""What the frames of the model reach, and what it holds: which objects have other names."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from types import CellType, FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control.lists import is_rows
from onnxwright.exporter.capture.source.holding import PLAIN, is_container, items_of, slots_of
from onnxwright.exporter.capture.source.iterators import LazyIterator

# How far objects are followed from a variable, and how many of them.
_DEPTH = 3
_MOST = 3000
_NAMESPACES = (SimpleNamespace, Namespace)


class Reach:
    """What the model's frames reach, as it is now."""

    def __init__(self) -> None:
        self.attributes: list[tuple[Any, dict[str, Any], dict[str, Any]]] = []
        self.slots: list[tuple[Any, dict[str, Any]]] = []
        self.containers: list[tuple[Any, Any]] = []
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

    def holds(self, value: Any) -> bool:
        """Whether a container, or an object with attributes, was reached."""
        known = (self.containers, self.attributes, self.slots)
        return any(owner is value for kept in known for owner, *_ in kept)

    def _of_frames(self) -> Iterator[Any]:
        """The variables of the model's frames, and the files of these."""
        files: dict[int, dict[str, Any]] = {}
        for frame in model_frames():
            yield from list(frame.f_locals.values())
            files[id(frame.f_globals)] = frame.f_globals
        for names in list(files.values()):
            for value in list(names.values()):
                if isinstance(value, FunctionType) and _is_users(value.__module__):
                    files.setdefault(id(value.__globals__), value.__globals__)
        for names in files.values():
            self.attributes.append((names, names, dict(names)))

    def _keep(self, value: Any) -> Iterable[Any]:
        """Remember what a value holds; what it leads to."""
        if is_container(value):
            items = items_of(value)
            self.containers.append((value, items))
            if is_rows(value):
                return ()
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
        if isinstance(value, LazyIterator):
            self.attributes.append((value, vars(value), dict(vars(value))))
            return ()
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
                found.append(_contents(cell))
        return found


def model_frames() -> Iterator[FrameType]:
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
