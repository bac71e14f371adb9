"""What a module and the functions that run hold, for what opaque code changes of it.

The store has the writes of converted code.  What PyTorch and other opaque code changed is put back.
Where another thread runs code of the user, which may write as well, and of what was first seen in
the middle of the capture, this is only what the module holds, and what holds a tensor or a number
that PyTorch traced.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from types import FrameType, FunctionType
from typing import Any

import torch
from torch.fx import Proxy

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control.held_objects import (
    MOST,
    Kept,
    Reached,
    is_pythons,
    is_replacement,
    is_watched,
)
from onnxwright.exporter.capture.control.places import (
    MISSING,
    PLAIN,
    Attribute,
    ClassItems,
    Items,
    Place,
    Variable,
    is_same,
)
from onnxwright.exporter.capture.control.store import Write
from onnxwright.exporter.places import is_of_user
from onnxwright.exporter.torch_internals import FakeTensor

_TRACED = (FakeTensor, torch.SymInt, torch.SymFloat, torch.SymBool, Proxy)
_NOWHERE = ("", 0)


class Snapshot(Reached):
    """What a module reaches, as it is now; functions are added as they run.

    Args:
        writes_buffers: leave what is written into buffers.
    """

    def __init__(self, module: torch.nn.Module, *, writes_buffers: bool = False) -> None:
        super().__init__()
        for path, one in module.named_modules():
            self.is_new(one)
            self.names[id(one)] = path
            buffers = None if writes_buffers else one._buffers
            for names in (vars(one), one._parameters, buffers, one._modules):
                if type(names) is dict:
                    self.keep(Items(names), of_module=True, owner=one, name=path)
                    self.names[id(names)] = path
        for path, one in module.named_modules():
            begin = f"{path}." if path else ""
            for name, value in list(vars(one).items()):
                if name.endswith("_hooks") and isinstance(value, dict):
                    self.keep(Items(value), of_module=True, owner=None, name=f"{begin}{name}")
                elif name not in ("_parameters", "_buffers", "_modules"):
                    self.look(value, f"{begin}{name}", of_module=True)
            self._class(type(one))
        self._drain()
        for kind in {k: None for one in module.modules() for k in type(one).__mro__}:
            for value in list(vars(kind).values()) if is_watched(kind) else ():
                self._add_all(value)
        # What is kept later was perhaps not as before the capture, which may have changed it.
        self._early = len(self.kept), len(self.cells)

    def _add_all(self, value: Any) -> None:
        """Add the function that an attribute of a class is, and those that it wraps."""
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        # Other objects are not asked: they may have any attribute.
        while isinstance(value, FunctionType):
            if is_of_user(value.__code__.co_filename):
                self.add(value)
            value = vars(value).get("__wrapped__")

    def add(self, function: FunctionType) -> None:
        """Keep what a function reaches: globals, variables around it, defaults, attributes."""
        self._function(function, of_module=False)
        self._drain()

    def _function(self, function: FunctionType, *, of_module: bool) -> None:
        names = function.__globals__
        if self.is_new(names):
            self.keep(Items(names), of_module=False, owner=names, name="")
            for name, value in list(names.items()):
                is_imported = isinstance(value, type) and value.__module__ != names.get("__name__")
                if not is_imported and not is_pythons(name):
                    self._waiting.append((value, name, False))
        super()._function(function, of_module=of_module)

    def held(self) -> list[Any]:
        """The containers of before that the module reaches."""
        return [kept.items.owner for kept in self.kept if kept.of_module]

    def identities(self) -> frozenset[int]:
        """The identities of all containers and objects that are kept."""
        return frozenset(id(one) for kept in self.kept for one in (kept.items.owner, kept.owner))

    # -- at the end --------------------------------------------------------------------------------

    def restore(self) -> list[Write]:
        """Put back what opaque code changed.

        Returns:
            What held something else, and is worth a word.
        """
        writes: list[Write] = []
        early, early_cells = (0, 0) if _others_run() else self._early
        for n, kept in enumerate(self.kept):
            if not kept.differs(kept.before):
                continue
            now, is_own = kept.items.read(), kept.of_module or n < early
            if kept.has_names:
                writes += self._restore_names(kept, now, is_own=is_own)
            elif is_own or _is_traced(now):
                kept.items.put(kept.before)
                writes.append(
                    Write(_Named(kept.items.owner, kept.name), kept.before, now, _NOWHERE)
                )
        for n, (place, value) in enumerate(self.cells):
            now = place.read()
            if now is not value and (n < early_cells or _is_traced(now)):
                place.put(value)
                writes.append(Write(place, value, now, _NOWHERE))
        return writes

    def _restore_names(self, kept: Kept, now: dict[Any, Any], *, is_own: bool) -> list[Write]:
        writes: list[Write] = []
        for name in {**kept.before, **now}:
            one, two = kept.before.get(name, MISSING), now.get(name, MISSING)
            if one is two or is_pythons(name) or is_replacement(one):
                continue
            traced = _is_traced(two)
            if not traced and (not is_own or not _is_put_back(kept, one, two)):
                continue
            if kept.owner is None:
                place: Place = _Named(kept.items.owner, f"{kept.name}[{name!r}]")
            else:
                dotted = f"{kept.name}.{name}" if kept.name else str(name)
                place = _Named(kept.owner, dotted)
            _give_back(kept, name, one)
            if _is_left(kept, one, two):
                continue
            if not is_same(one, two) and not _is_copy(one, two) and (one is not MISSING or traced):
                writes.append(Write(place, one, two, _NOWHERE))
        return writes


class _Named(Place):
    """A place for a message."""

    @property
    def text(self) -> str:
        return str(self.name)


def _give_back(kept: Kept, name: Any, value: Any) -> None:
    if isinstance(kept.items, ClassItems):
        Attribute(kept.owner, name).put(value)
    else:
        Variable(kept.items.owner, name).put(value)


def _is_put_back(kept: Kept, one: Any, two: Any) -> bool:
    """Whether a change is taken back.

    New attributes and global variables that do not hold data stay, as the caches of a library do.
    """
    held = kept.items.owner
    is_variable = held is kept.owner or held is getattr(kept.owner, "__dict__", ...)
    return one is not MISSING or not is_variable or _is_data(two)


def _is_left(kept: Kept, one: Any, two: Any) -> bool:
    """Whether a parameter or a buffer is PyTorch's stand-in for it, which a failed call left."""
    registered = [getattr(kept.owner, n, None) for n in ("_parameters", "_buffers")]
    is_of_module = any(kept.items.owner is names for names in registered)
    return is_of_module and isinstance(one, torch.Tensor) and isinstance(two, FakeTensor)


def _others_run() -> bool:
    """Whether another thread runs code of the user: it may write to what the user has."""
    own = threading.get_ident()
    for thread, frame in sys._current_frames().items():
        at: FrameType | None = frame if thread != own else None
        while at is not None:
            if owner_of(at.f_code.co_filename) is Owner.USER:
                return True
            at = at.f_back
    return False


def _is_data(value: Any) -> bool:
    """Whether a value is a number, a text or a tensor, or holds nothing else."""
    if isinstance(value, dict):
        return all(map(_is_data, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_data, value))
    return type(value) in PLAIN or isinstance(value, torch.Tensor)


def _is_copy(one: Any, two: Any) -> bool:
    """Whether a value is a copy of another, as PyTorch makes of the containers of a module."""
    if type(one) is not type(two) or not isinstance(one, (list, tuple, dict)):
        return is_same(one, two)
    if len(one) != len(two):
        return False
    if isinstance(one, dict):
        return all(k in two and _is_copy(v, two[k]) for k, v in one.items())
    return all(map(_is_copy, one, two))


def _is_traced(value: Any, depth: int = 4) -> bool:
    """Whether a value is, or holds, a tensor or a number that PyTorch traces."""
    if isinstance(value, _TRACED):
        return True
    if depth and type(value) not in PLAIN:
        if isinstance(value, dict):
            return any(_is_traced(v, depth - 1) for v in _few(dict.values(value)))
        if isinstance(value, (list, tuple, set)):
            return any(_is_traced(v, depth - 1) for v in _few(value))
    module = type(value).__module__
    return module.startswith("onnxwright.exporter.capture.")


def _few(items: Iterable[Any]) -> list[Any]:
    item_list = list(items)
    return item_list if len(item_list) <= MOST else []
