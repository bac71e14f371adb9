"""What objects and functions lead to: containers, attributes of objects, states of objects of C."""

from __future__ import annotations

import enum
import functools
import operator
import sys
import types
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import (
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import torch

from onnxwright.exporter.capture.control.places import (
    MISSING,
    PLAIN,
    Attribute,
    Cell,
    ClassItems,
    ContextValue,
    InnerState,
    Items,
    Place,
    has_items,
    has_state,
    is_array,
    is_same,
)
from onnxwright.exporter.capture.session.program_lists import is_rows
from onnxwright.exporter.places import is_of_user
from onnxwright.exporter.torch_internals import FakeTensor

# What is looked through: a bound for data sets in lists of Python, and in arrays (bytes).
MOST, _MOST_BYTES = 20_000, 1 << 26
# Modules whose objects hold no state of a program: their caches and counters may change.
_SKIPPED = frozenset(
    ("torch", "onnxwright", "onnxruntime", "builtins", "numpy", "sympy", "logging", "warnings",
     "re", "abc", "typing", "inspect", "threading", "functools", "contextlib", "weakref", "_thread")
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
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
        if self.has_names:
            return not holds_the_same(before, now)
        return not self.items.is_same(before, now)

    @property
    def has_names(self) -> bool:
        """Whether it is a dict, or the attributes of an object: what it holds has names."""
        return not isinstance(self.items, InnerState) and isinstance(self.before, dict)


class Reached:
    """What objects and functions lead to: containers, attributes of objects, states of C objects.

    Args:
        visited: what was looked at before, by its identity.
    """

    def __init__(self, visited: Mapping[int, Any] = MappingProxyType({})) -> None:
        self.kept: list[Kept] = []
        self.names: dict[int, str] = {}
        self.seen: dict[int, Any] = {}
        self.cells: list[tuple[Cell, Any]] = []
        self._visited = visited
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
            if not is_watched(one) or not self.is_new(one):
                continue
            self.keep(ClassItems(one), of_module=False, owner=one, name=one.__name__)
            for name, value in list(vars(one).items()):
                if has_items(value) and not name.startswith("_"):
                    self._waiting.append((value, f"{one.__name__}.{name}", False))

    def is_new(self, value: Any) -> bool:
        """Whether a value was not looked at before; it is now."""
        if id(value) in self.seen or id(value) in self._visited:
            return False
        self.seen[id(value)] = value
        return True

    def keep(self, place: Place, *, of_module: bool, owner: Any, name: str) -> None:
        """Keep what a place holds."""
        self.kept.append(Kept(place, place.read(), of_module, owner, name))
        self.names.setdefault(id(place.owner if owner is None else owner), name)

    def _look(self, value: Any, name: str, of_module: bool) -> None:
        if type(value) in PLAIN or isinstance(value, (torch.Tensor, ModuleType)):
            return
        if isinstance(value, torch.nn.Module):  # that of the capture is kept; no others run
            return
        if isinstance(value, type):
            self._class(value)
        elif len(self.kept) > MOST or not self.is_new(value):
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
        elif has_items(value):
            self._container(value, name, of_module)
        elif isinstance(value, ContextVar):
            self.keep(ContextValue(value), of_module=of_module, owner=None, name=name)
        elif has_state(value):
            self.keep(InnerState(value), of_module=of_module, owner=None, name=name)
        elif not _is_of_torch(value):
            self._object(value, name, of_module)

    def _object(self, value: Any, name: str, of_module: bool) -> None:
        """Keep the attributes of an object."""
        self.names.setdefault(id(value), name)
        if isinstance(getattr(value, "__dict__", None), dict):
            self.keep(Items(vars(value)), of_module=of_module, owner=value, name=name)
            held = list(vars(value).items())
            self._waiting += [(v, f"{name}.{inner}", of_module) for inner, v in held]
        for kind in type(value).__mro__:
            for inner, place in list(vars(kind).items()):
                if isinstance(place, MemberDescriptorType) and is_watched(kind):
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
        if is_rows(items) or len(items) > MOST:
            return
        self.keep(place, of_module=of_module, owner=None, name=name)
        held = items.items() if isinstance(items, dict) else enumerate(items)
        self._waiting += [
            (inner, f"{name}[{key!r}]", of_module)
            for key, inner in list(held) if type(inner) not in PLAIN
        ]  # fmt: skip
        if isinstance(getattr(value, "__dict__", None), dict):
            self._object(value, name, of_module)


def holds_the_same(one: dict[Any, Any], two: dict[Any, Any]) -> bool:
    """Whether two dicts hold the same objects, but for names that Python itself sets."""
    if len(one) == len(two) and all(map(operator.is_, one.values(), two.values())):
        return one.keys() == two.keys()
    names = [n for n in {**one, **two} if not is_pythons(n)]
    pairs = [(one.get(n, MISSING), two.get(n, MISSING)) for n in names]
    if not all(is_same(*pair) or any(map(is_replacement, pair)) for pair in pairs):
        return False
    return has_order(one, two)


def has_order(one: dict[Any, Any], two: dict[Any, Any]) -> bool:
    """Whether a dict has the names of another in the same order, but for those of one alone."""
    names = [n for n in one if n in two]
    return names == [n for n in two if n in one]


def is_pythons(name: Any) -> bool:
    """Whether Python itself sets a name, as `__warningregistry__`."""
    return isinstance(name, str) and name.startswith("__") and name.endswith("__")


def is_replacement(value: Any) -> bool:
    """Whether a value is what a capture puts in the place of a function, for its time."""
    inner = value.func if isinstance(value, functools.partial) else value
    if isinstance(inner, (FunctionType, type)):
        return str(inner.__module__).startswith("onnxwright.")
    return type(inner).__module__.startswith("onnxwright.exporter.capture.replacements.")


def is_watched(kind: type) -> bool:
    """Whether the attributes of a class may be state of the program."""
    if issubclass(kind, enum.Enum) or kind.__module__.partition(".")[0] in _SKIPPED:
        return False
    module = sys.modules.get(kind.__module__)
    return module is None or is_of_user(getattr(module, "__file__", None) or "<stdin>")


def _is_of_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in _SKIPPED


# -- the numbers of the tensors that a module holds beside its parameters and buffers --------------

# What is looked through: a bound for modules that hold large data sets in Python lists.
_MOST = 20_000
# Elements of a tensor that is kept: a bound for data sets that are held as tensors.
_MOST_ELEMENTS = 1 << 24
_LEAVES = (str, bytes, int, float, complex, type, types.ModuleType, torch.Tensor)


class HeldTensors:
    """Tensors in the attributes, containers and closures of a module, with their numbers.

    PyTorch computes with tensors that are not buffers while it traces, so that `self.count.add_(1)`
    would have happened once before the program runs for the first time.

    Args:
        others: tensors whose numbers are not kept, also where another tensor shares them.
    """

    def __init__(self, module: torch.nn.Module, others: Collection[torch.Tensor] = ()) -> None:
        left_out = set(map(_start, others))
        tensors = [t for t in _held_tensors(module) if _start(t) not in left_out]
        self._kept = [(tensor, tensor.detach().clone()) for tensor in tensors]

    def restore(self) -> None:
        """Give the tensors their numbers back."""
        for tensor, value in self._kept:
            if not torch.equal(tensor, value):
                with torch.no_grad():
                    tensor.copy_(value)


def _held_tensors(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Real tensors in the attributes, containers and closures of a module.

    Of tensors that are registered, those of one element.
    """
    registered = {id(t) for t in (*module.parameters(), *module.buffers())}
    seen: set[int] = set()
    waiting: list[Any] = [module]
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            is_real = type(one) is torch.Tensor and one.device.type == "cpu"
            if is_real and one.layout is torch.strided and one.numel() <= _MOST_ELEMENTS:
                if one.numel() == 1 or id(one) not in registered:
                    yield one
        elif isinstance(one, dict):
            waiting += [v for v in one.values() if _may_hold(v)]
        elif isinstance(one, list | tuple | set):
            waiting += [v for v in one if _may_hold(v)]
        elif isinstance(one, types.FunctionType):
            waiting += [c.cell_contents for c in one.__closure__ or () if _is_filled(c)]
        elif isinstance(one, types.MethodType):
            waiting += [one.__self__, one.__func__]
        else:
            waiting += [v for v in getattr(one, "__dict__", {}).values() if _may_hold(v)]


def _start(tensor: torch.Tensor) -> int | None:
    """Where the memory of a tensor is; None where it has none."""
    if isinstance(tensor, FakeTensor) or tensor.layout is not torch.strided:
        return None
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (RuntimeError, ValueError):  # a subclass that wraps tensors; a lazy parameter
        return None


def _may_hold(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or not isinstance(value, _LEAVES)


def _is_filled(cell: Any) -> bool:
    try:
        return bool(_may_hold(cell.cell_contents))
    except ValueError:  # a name that is not bound yet
        return False
