"""What a module and the functions that run hold, for what opaque code changes of it.

Converted code tells the store of its writes.  PyTorch and other opaque code does not: what it left
in a module is put back; elsewhere, where other threads may write as well, what holds a tensor or a
number that PyTorch traced is.
"""

from __future__ import annotations

import enum
import functools
import operator
import sys
import threading
from collections.abc import Iterable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from types import (
    FrameType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Proxy

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control.errors import UnseenChangeError
from onnxwright.exporter.capture.control.lists import is_rows
from onnxwright.exporter.capture.control.places import (
    MISSING,
    PLAIN,
    Attribute,
    Cell,
    InnerState,
    Items,
    Place,
    Variable,
    has_state,
    is_array,
    is_container,
    is_same,
)
from onnxwright.exporter.capture.control.store import Write
from onnxwright.exporter.places import is_of_user

_TRACED = (FakeTensor, torch.SymInt, torch.SymFloat, torch.SymBool, Proxy)
# What is looked through: a bound for data sets in lists of Python, and in arrays (bytes).
_MOST, _MOST_BYTES = 20_000, 1 << 26
_NOWHERE = ("", 0)
# Modules whose objects hold no state of a program: their caches and counters may change.
_SKIPPED = frozenset(
    ("torch", "onnxwright", "onnxruntime", "builtins", "numpy", "sympy", "logging", "warnings",
     "re", "abc", "typing", "inspect", "threading", "functools", "contextlib", "weakref", "_thread")
)  # fmt: skip


@dataclass(frozen=True)
class _Kept:
    """A container, the attributes of an object, or the state of an object of C, as it was.

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

    def differs(self, before: Any) -> bool:
        """Whether it holds something else than before."""
        now = self.items.read()
        if isinstance(before, dict) and isinstance(now, dict):
            return not _holds_the_same(before, now)
        return not self.items.is_same(before, now)


class _Reached:
    """What objects and functions lead to: containers, attributes of objects, states of C objects.

    Args:
        known: what was looked at before, by its identity.
    """

    def __init__(self, known: Mapping[int, Any] = MappingProxyType({})) -> None:
        self.kept: list[_Kept] = []
        self.names: dict[int, str] = {}
        self.seen: dict[int, Any] = {}
        self.cells: list[tuple[Cell, Any]] = []
        self._known = known
        self._waiting: list[tuple[Any, str, bool]] = []

    def look(self, value: Any, name: str, *, of_module: bool) -> None:
        """Keep what a value leads to."""
        self._waiting.append((value, name, of_module))
        self._drain()

    def _drain(self) -> None:
        while self._waiting:
            self._look(*self._waiting.pop())

    def _function(self, function: FunctionType, *, of_module: bool) -> None:
        """Keep what a function leads to: variables around it, defaults, attributes."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            place = Cell(cell, name)
            if self.is_new(cell):
                value = place.read()
                self.cells.append((place, value))
                self._waiting.append((value, name, of_module))
        if vars(function):
            own = vars(function)
            self.keep(Items(own), of_module=False, owner=function, name=function.__name__)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._waiting.append((value, f"a default of {function.__name__}", False))

    def _class(self, kind: type) -> None:
        """Keep the attributes of a class of the user, of its bases and of its class."""
        above: type = type(kind)
        for one in kind.__mro__ + above.__mro__:
            if not _is_watched(one) or not self.is_new(one):
                continue
            self.keep(_ClassItems(one), of_module=False, owner=one, name=one.__name__)
            for name, value in list(vars(one).items()):
                if is_container(value) and not name.startswith("_"):
                    self._waiting.append((value, f"{one.__name__}.{name}", False))

    def is_new(self, value: Any) -> bool:
        """Whether a value was not looked at before; it is now."""
        if id(value) in self.seen or id(value) in self._known:
            return False
        self.seen[id(value)] = value
        return True

    def keep(self, place: Place, *, of_module: bool, owner: Any, name: str) -> None:
        """Keep what a place holds."""
        self.kept.append(_Kept(place, place.read(), of_module, owner, name))
        self.names.setdefault(id(place.owner if owner is None else owner), name)

    def _look(self, value: Any, name: str, of_module: bool) -> None:
        if type(value) in PLAIN or isinstance(value, (torch.Tensor, ModuleType)):
            return
        if isinstance(value, torch.nn.Module):  # that of the capture is kept; no others run
            return
        if isinstance(value, type):
            self._class(value)
        elif len(self.kept) > _MOST or not self.is_new(value):
            return
        elif isinstance(value, FunctionType):
            if is_of_user(value.__code__.co_filename):
                self._function(value, of_module=of_module)
        elif isinstance(value, MethodType):
            self._waiting.append((value.__self__, name, of_module))
        elif isinstance(value, functools.partial):
            parts = (value.func, *value.args, *value.keywords.values())
            self._waiting += [(part, name, of_module) for part in parts]
        elif isinstance(value, tuple):
            self._waiting += [(v, f"{name}[{n}]", of_module) for n, v in enumerate(value)]
        elif is_container(value):
            self._container(value, name, of_module)
        elif has_state(value):
            self.keep(InnerState(value), of_module=of_module, owner=None, name=name)
        elif not _is_of_torch(value):
            self._object(value, name, of_module)

    def _object(self, value: Any, name: str, of_module: bool) -> None:
        """Keep the attributes of an object."""
        if isinstance(getattr(value, "__dict__", None), dict):
            self.keep(Items(vars(value)), of_module=of_module, owner=value, name=name)
            held = list(vars(value).items())
            self._waiting += [(v, f"{name}.{inner}", of_module) for inner, v in held]
        for kind in type(value).__mro__:
            for inner, place in list(vars(kind).items()):
                if isinstance(place, MemberDescriptorType) and _is_watched(kind):
                    slot = Attribute(value, inner)
                    self.keep(slot, of_module=of_module, owner=value, name=f"{name}.{inner}")
                    self._waiting.append((slot.read(), f"{name}.{inner}", of_module))
        self._class(type(value))

    def _container(self, value: Any, name: str, of_module: bool) -> None:
        self.names.setdefault(id(value), name)
        if is_array(value):
            if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject:
                self.keep(Items(value), of_module=of_module, owner=None, name=name)
            return
        if not hasattr(value, "__len__"):
            return
        place = Items(value)
        items = place.read()  # not by methods of a subclass, which may make its items then
        if is_rows(items) or len(items) > _MOST:
            return
        self.keep(place, of_module=of_module, owner=None, name=name)
        held = items.items() if isinstance(items, dict) else enumerate(items)
        self._waiting += [
            (inner, f"{name}[{key!r}]", of_module)
            for key, inner in list(held) if type(inner) not in PLAIN
        ]  # fmt: skip
        if isinstance(getattr(value, "__dict__", None), dict):
            self._object(value, name, of_module)


class Snapshot(_Reached):
    """What a module reaches, as it is now; functions are added as they run.

    Args:
        module: what is captured.
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
        for path, one in module.named_modules():
            begin = f"{path}." if path else ""
            for name, value in list(vars(one).items()):
                if name.endswith("_hooks") and isinstance(value, dict):
                    self.keep(Items(value), of_module=True, owner=None, name=f"{begin}{name}")
                elif name not in ("_parameters", "_buffers", "_modules"):
                    self.look(value, f"{begin}{name}", of_module=True)
            self._class(type(one))
        self._drain()

    def add(self, function: FunctionType) -> None:
        """Keep what a function reaches: globals, variables around it, defaults, attributes."""
        names = function.__globals__
        if self.is_new(names):
            self.keep(Items(names), of_module=False, owner=names, name="")
            for name, value in list(names.items()):
                is_imported = isinstance(value, type) and value.__module__ != names.get("__name__")
                if not is_imported and not _is_pythons(name):
                    self.look(value, name, of_module=False)
        self._function(function, of_module=False)
        self._drain()

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
        found: list[Write] = []
        is_alone = not _others_run()
        for kept in self.kept:
            if not kept.differs(kept.before):
                continue
            now = kept.items.read()
            if isinstance(kept.before, dict) and isinstance(now, dict):
                found += self._restore_names(kept, now, is_alone=is_alone)
            elif kept.of_module or is_alone or _is_traced(now):
                kept.items.put(kept.before)
                found.append(Write(_Named(kept.items.owner, kept.name), kept.before, now, _NOWHERE))
        for place, value in self.cells:
            now = place.read()
            if now is not value and (is_alone or _is_traced(now)):
                place.put(value)
                found.append(Write(place, value, now, _NOWHERE))
        return found

    def _restore_names(self, kept: _Kept, now: dict[Any, Any], *, is_alone: bool) -> list[Write]:
        found: list[Write] = []
        for name in {**kept.before, **now}:
            one, two = kept.before.get(name, MISSING), now.get(name, MISSING)
            if one is two or _is_pythons(name) or _is_replacement(one):
                continue
            traced, is_own = _is_traced(two), kept.of_module or is_alone
            if not traced and (not is_own or not _is_put_back(kept, one, two)):
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
        self._own = _Reached({} if snapshot is None else snapshot.seen)
        for one in functions:
            self._own.look(one, "", of_module=False)
        self._context = dict(copy_context().items())

    def check(self, seen: frozenset[tuple[int, str | None]]) -> None:
        """Compare what can be reached with what it was.

        Args:
            seen: the places that converted code wrote to: the identity of the owner, and the name.

        Raises:
            UnseenChangeError: something else is not as it was.
        """
        kept = [] if self._snapshot is None else self._snapshot.kept
        held = [*self._held, *(one.before for one in kept[len(self._held) :])]
        pairs = [*zip(kept, held), *((one, one.before) for one in self._own.kept)]
        for one, before in pairs:
            if one.differs(before) and not _is_seen(one, before, seen):
                owner = one.items.owner if one.owner is None else one.owner
                kind = owner.__name__ if isinstance(owner, type) else type(owner).__name__
                raise UnseenChangeError(f"`{one.name or kind}` is changed", kind, one.name)
        if not _holds_the_same(self._context, dict(copy_context().items())):
            raise UnseenChangeError("a context variable is set", "ContextVar")


def _is_seen(kept: _Kept, before: Any, seen: frozenset[tuple[int, str | None]]) -> bool:
    """Whether all that differs are places that converted code wrote to."""
    place = kept.items
    if (id(place.owner), place.name) in seen:
        return True
    now = place.read()
    if not isinstance(before, dict) or not isinstance(now, dict):
        return False
    owner = place.owner if kept.owner is None else kept.owner
    names = [n for n in {**before, **now} if before.get(n, MISSING) is not now.get(n, MISSING)]
    return all(_is_pythons(n) or (id(owner), n) in seen for n in names)


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

    Attributes that it made at the first call stay, as the caches of a library do.
    """
    is_attribute = kept.owner is not None and kept.items.owner is vars(kept.owner)
    return one is not MISSING or not is_attribute or _is_data(two)


def _holds_the_same(one: dict[Any, Any], two: dict[Any, Any]) -> bool:
    """Whether two dicts hold the same objects, but for names that Python itself sets."""
    if len(one) == len(two) and all(map(operator.is_, one.values(), two.values())):
        return one.keys() == two.keys()
    names = [n for n in {**one, **two} if not _is_pythons(n)]
    pairs = [(one.get(n, MISSING), two.get(n, MISSING)) for n in names]
    return all(is_same(*pair) or any(map(_is_replacement, pair)) for pair in pairs)


def _is_replacement(value: Any) -> bool:
    """Whether a value is what a capture puts in the place of a function, for its time."""
    inner = value.func if isinstance(value, functools.partial) else value
    is_function = isinstance(inner, (FunctionType, type))
    return is_function and str(inner.__module__).startswith("onnxwright.")


def _is_pythons(name: Any) -> bool:
    """Whether Python itself sets a name, as `__warningregistry__`."""
    return isinstance(name, str) and name.startswith("__") and name.endswith("__")


def _is_watched(kind: type) -> bool:
    """Whether the attributes of a class may be state of the program."""
    if issubclass(kind, enum.Enum) or kind.__module__.partition(".")[0] in _SKIPPED:
        return False
    module = sys.modules.get(kind.__module__)
    return module is None or is_of_user(getattr(module, "__file__", None) or "<stdin>")


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
    return module.startswith("onnxwright.exporter.capture.source")


def _few(items: Iterable[Any]) -> list[Any]:
    found = list(items)
    return found if len(found) <= _MOST else []


def _is_of_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in _SKIPPED
