"""What a module and the functions that run hold, for what opaque code changes of it.

Converted code tells the store of its writes.  PyTorch and other opaque code does not: what it left
in a module is put back; elsewhere, where other threads may write as well, what holds a tensor or a
number that PyTorch traced is.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Proxy

from onnxwright.exporter.capture.control.places import (
    MISSING,
    PLAIN,
    Attribute,
    Cell,
    Items,
    Place,
    Variable,
    is_array,
    is_container,
    is_same,
)
from onnxwright.exporter.capture.control.store import Write
from onnxwright.exporter.places import is_of_user

_TRACED = (FakeTensor, torch.SymInt, torch.SymFloat, torch.SymBool, Proxy)
# What is looked through: a bound for data sets in lists of Python.
_MOST = 20_000
_DEPTH = 6
_NOWHERE = ("", 0)


@dataclass(frozen=True)
class _Kept:
    """A container or the attributes of an object, as it was.

    Fields:
        items: the place.
        before: what it held.
        of_module: whether the module reaches it.
        owner: the object whose attributes it holds; None for a container.
        name: what the user calls it.
    """

    items: Place
    before: Any
    of_module: bool
    owner: Any
    name: str


class Snapshot:
    """What a module reaches, as it is now; functions are added as they run.

    Args:
        module: what is captured.
        writes_buffers: leave what is written into buffers.
    """

    def __init__(self, module: torch.nn.Module, *, writes_buffers: bool = False) -> None:
        self._kept: list[_Kept] = []
        self._seen: set[int] = set()
        self._cells: list[tuple[Cell, Any]] = []
        self.names: dict[int, str] = {}
        for path, one in module.named_modules():
            self._seen.add(id(one))
            self.names[id(one)] = path
            buffers = None if writes_buffers else one._buffers
            for names in (vars(one), one._parameters, buffers, one._modules):
                if type(names) is dict:
                    self._keep(names, of_module=True, owner=one, name=path)
        for path, one in module.named_modules():
            begin = f"{path}." if path else ""
            for name, value in list(vars(one).items()):
                if name.endswith("_hooks") and isinstance(value, dict):
                    self._keep(value, of_module=True, owner=None, name=f"{begin}{name}")
                elif name not in ("_parameters", "_buffers", "_modules"):
                    self._walk(value, f"{begin}{name}", 0, of_module=True)
            for kind in type(one).__mro__:
                self._class(kind)

    def add(self, function: FunctionType) -> None:
        """Keep what a function reaches: globals, variables around it, defaults, attributes."""
        names = function.__globals__
        if id(names) not in self._seen:
            self._seen.add(id(names))
            self._keep(names, of_module=False, owner=names, name="")
            for name, value in list(names.items()):
                if not isinstance(value, (ModuleType, type)):
                    self._walk(value, name, 1, of_module=False)
                elif isinstance(value, type) and value.__module__ == names.get("__name__"):
                    self._class(value)
        self._function(function, 1, of_module=False)

    def _function(self, function: FunctionType, depth: int, *, of_module: bool) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            place = Cell(cell, name)
            if id(cell) not in self._seen:
                self._seen.add(id(cell))
                value = place.read()
                self._cells.append((place, value))
                self._walk(value, name, depth + 1, of_module=of_module)
        if vars(function):
            own = vars(function)
            self._keep(own, of_module=False, owner=function, name=function.__name__)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._walk(value, f"a default of {function.__name__}", depth + 1, of_module=False)

    def _class(self, kind: type) -> None:
        """Keep the attributes of a class of the user."""
        if id(kind) in self._seen or kind.__module__.partition(".")[0] in ("torch", "builtins"):
            return
        self._seen.add(id(kind))
        names = dict(vars(kind))
        self._kept.append(_Kept(_ClassItems(kind), names, False, kind, kind.__name__))
        for name, value in names.items():
            if is_container(value) and not name.startswith("__"):
                self._walk(value, f"{kind.__name__}.{name}", 2, of_module=False)

    def _keep(self, items: Any, *, of_module: bool, owner: Any, name: str) -> None:
        place = Items(items)
        self._kept.append(_Kept(place, place.read(), of_module, owner, name))
        self.names.setdefault(id(items if owner is None else owner), name)

    def _walk(self, value: Any, name: str, depth: int, *, of_module: bool) -> None:
        if type(value) in PLAIN or id(value) in self._seen or depth > _DEPTH:
            return
        if isinstance(value, (torch.Tensor, type, ModuleType)) or len(self._kept) > _MOST:
            return
        if isinstance(value, torch.nn.Module):
            return  # that of the capture is kept; others are not known to run
        self._seen.add(id(value))
        if isinstance(value, FunctionType):
            if is_of_user(value.__code__.co_filename):
                self._function(value, depth, of_module=of_module)
        elif isinstance(value, MethodType):
            self._walk(value.__self__, name, depth, of_module=of_module)
        elif isinstance(value, tuple):
            for n, inner in enumerate(value):
                self._walk(inner, f"{name}[{n}]", depth + 1, of_module=of_module)
        elif is_container(value):
            self._container(value, name, depth, of_module=of_module)
        elif isinstance(getattr(value, "__dict__", None), dict) and not _is_of_torch(value):
            self._keep(vars(value), of_module=of_module, owner=value, name=name)
            for inner, held in list(vars(value).items()):
                self._walk(held, f"{name}.{inner}", depth + 1, of_module=of_module)

    def _container(self, value: Any, name: str, depth: int, *, of_module: bool) -> None:
        self.names.setdefault(id(value), name)
        if is_array(value) or not hasattr(value, "__len__"):
            return
        items = Items(value).read()  # not by methods of a subclass, which may make its items then
        if len(items) > _MOST:
            return
        self._keep(value, of_module=of_module, owner=None, name=name)
        held = items.items() if isinstance(items, dict) else enumerate(items)
        for key, inner in list(held):
            if type(inner) not in PLAIN:
                self._walk(inner, f"{name}[{key!r}]", depth + 1, of_module=of_module)

    def held(self) -> list[Any]:
        """The containers of before that the module reaches."""
        return [kept.items.owner for kept in self._kept if kept.of_module]

    def identities(self) -> frozenset[int]:
        """The identities of all containers and objects that are kept."""
        return frozenset(id(one) for kept in self._kept for one in (kept.items.owner, kept.owner))

    # -- at the end --------------------------------------------------------------------------------

    def restore(self) -> list[Write]:
        """Put back what opaque code changed.

        Returns:
            What held something else, and is worth a word.
        """
        found: list[Write] = []
        for kept in self._kept:
            now = kept.items.read()
            if isinstance(kept.before, dict):
                if _holds_the_same(kept.before, now):
                    continue
                found += self._restore_names(kept, now)
            elif not kept.items.is_same(kept.before, now) and (kept.of_module or _is_traced(now)):
                kept.items.put(kept.before)
                found.append(Write(_Named(kept.items.owner, kept.name), kept.before, now, _NOWHERE))
        for place, value in self._cells:
            now = place.read()
            if now is not value and _is_traced(now):
                place.put(value)
                found.append(Write(place, value, now, _NOWHERE))
        return found

    def _restore_names(self, kept: _Kept, now: dict[Any, Any]) -> list[Write]:
        found: list[Write] = []
        for name in {**kept.before, **now}:
            one, two = kept.before.get(name, MISSING), now.get(name, MISSING)
            if one is two:
                continue
            traced = _is_traced(two)
            if not traced and (not kept.of_module or not _is_put_back(kept, one, two)):
                continue
            if kept.owner is None:
                place: Place = _Named(kept.items.owner, f"{kept.name}[{name!r}]")
            else:
                dotted = f"{kept.name}.{name}" if kept.name else str(name)
                place = _Named(kept.owner, dotted)
            _give_back(kept, name, one)
            if not is_same(one, two) and not _is_copy(one, two) and (one is not MISSING or traced):
                found.append(Write(place, one, two, _NOWHERE))
        return found


class _Named(Place):
    """A place for a message."""

    @property
    def text(self) -> str:
        return str(self.name)


class _ClassItems(Place):
    """The attributes of a class."""

    def read(self) -> Any:
        return dict(vars(self.owner))


def _give_back(kept: _Kept, name: Any, value: Any) -> None:
    if isinstance(kept.items, _ClassItems):
        Attribute(kept.owner, name).put(value)
    else:
        Variable(kept.items.owner, name).put(value)


def _is_put_back(kept: _Kept, one: Any, two: Any) -> bool:
    """Whether a change of a module is taken back.

    Objects that it made at the first call stay, as the caches of a library do.
    """
    return one is not MISSING or kept.name.endswith("_hooks") or _is_data(two)


def _holds_the_same(one: dict[Any, Any], two: dict[Any, Any]) -> bool:
    """Whether two dicts hold the same objects."""
    return one.keys() == two.keys() and all(map(operator.is_, one.values(), two.values()))


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
    return module.startswith("onnxwright.exporter.capture.source")


def _few(items: Iterable[Any]) -> list[Any]:
    found = list(items)
    return found if len(found) <= _MOST else []


def _is_of_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("torch", "onnxwright", "onnxruntime")
