"""The functions that a model may call, found by the names that its code reads."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from onnxwright.exporter.places import is_of_user

_PLAIN = (int, float, complex, str, bytes, type(None), torch.Tensor, torch.dtype, ModuleType)
_SKIPPED = {"torch", "builtins", "numpy", "typing", "collections", "enum", "onnxwright"}
_NOT_CALLED = {"__class__", "__dict__", "__weakref__", "__init_subclass__", "__reduce__"}
_CONTAINERS = (dict, list, tuple, set, frozenset)
# Items of a container that are looked at: a bound for data sets in Python lists.
_MOST = 20_000


def reached_functions(model: Any) -> Iterator[FunctionType]:
    """The functions of users and libraries that a model may call.

    A method counts where its name is read by a function that counts.

    Args:
        model: a module or a function.

    Yields:
        Each once; none of PyTorch, of this package or of Python itself.
    """
    yield from _Reached(model)


@functools.lru_cache(maxsize=16384)
def names_read(code: CodeType) -> frozenset[str]:
    """The names that code, and functions in it, read as globals or attributes."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(code.co_names).union(*map(names_read, inner))


def _items(container: Any) -> list[Any]:
    """The items that a container has; a class of its own may make others when it is asked."""
    kind = next(c for c in _CONTAINERS if isinstance(container, c))
    if kind.__len__(container) > _MOST:
        return []
    return list(dict.values(container) if kind is dict else kind.__iter__(container))


class _Reached:
    """The search, which begins at `forward`."""

    def __init__(self, model: Any) -> None:
        self.waiting: list[Any] = [model]
        if isinstance(model, torch.nn.Module):
            for module in model.modules():
                self.waiting += [type(module), vars(module)]
        self.seen: set[int] = set()
        self.names: set[str] = {"forward"}
        self.methods: dict[str, list[Any]] = {}

    def __iter__(self) -> Iterator[FunctionType]:
        while self.waiting:
            value = self.waiting.pop()
            if id(value) in self.seen or isinstance(value, _PLAIN):
                continue
            self.seen.add(id(value))
            if isinstance(value, FunctionType):
                if is_of_user(value.__code__.co_filename):
                    yield value
                    self.read_by(value)
            elif isinstance(value, type):
                self.add_class(value)
            elif isinstance(value, _CONTAINERS):
                self.waiting += _items(value)
            elif isinstance(value, (MethodType, staticmethod, classmethod)):
                self.waiting.append(value.__func__)
            elif isinstance(value, (functools.partial, functools.cached_property)):
                self.waiting.append(value.func)
            elif isinstance(value, property):
                self.waiting += [value.fget, value.fset]
            else:
                self.waiting += [type(value), getattr(value, "__wrapped__", None)]

    def add_class(self, kind: type) -> None:
        """Take the methods of a class; those whose names nobody has read yet, later."""
        self.waiting += kind.__bases__
        if kind.__module__.partition(".")[0] in _SKIPPED:
            return
        for name, value in vars(kind).items():
            if name in self.names or (name.startswith("__") and name not in _NOT_CALLED):
                self.waiting.append(value)
            else:
                self.methods.setdefault(name, []).append(value)

    def read_by(self, function: FunctionType) -> None:
        """Take what a function may call: by a name, by a closure, or as a default."""
        names, around = names_read(function.__code__), function.__globals__
        for name in names:
            value = around.get(name)
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in _SKIPPED:
                self.waiting += [vars(value).get(attribute) for attribute in names]
            elif value is not None:
                self.waiting.append(value)
            if name not in self.names:
                self.names.add(name)
                self.waiting += self.methods.pop(name, [])
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # not bound yet
                self.waiting.append(cell.cell_contents)
        self.waiting += function.__defaults__ or ()
        self.waiting.append(getattr(function, "__wrapped__", None))
