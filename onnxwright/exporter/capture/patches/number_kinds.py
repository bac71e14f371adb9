"""`isinstance(n, int)` and `type(n)` of numbers that PyTorch's objects stand for, as in Python.

A size is a `torch.SymInt` while PyTorch traces, of which `isinstance(n, int)` is False: the model
took the other side of such a decision without a word.  While a capture lasts, the code that a model
runs finds functions under both names that answer as Python does where the model runs.
"""

from __future__ import annotations

import contextlib
import dis
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from onnxwright.exporter.places import is_of_user

KINDS: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
"""The classes of PyTorch that stand for numbers of Python."""


def is_kind(value: Any, kinds: Any) -> bool:
    """`isinstance(value, kinds)`, also true of what the value is where the model runs.

    Args:
        value: an object.
        kinds: a class, a union or a tuple of them; programs that are written for a capture ask
            for `torch.SymInt`, which is true, too.

    Returns:
        Whether.

    Example:
        >>> is_kind(3, int), is_kind(3.0, (int, str))
        (True, False)
    """
    if isinstance(value, kinds):
        return True
    kind = KINDS.get(type(value))
    return kind is not None and issubclass(kind, kinds)


class _KindOf(type):
    """The class of `Kind`: calls of it are calls of `type`."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options:
            return KINDS.get(type(args[0]), type(args[0]))
        return type(*args, **options)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)


class Kind(type, metaclass=_KindOf):
    """`type` by another name, for which a size is an int."""


_PLAIN = (int, float, complex, str, bytes, type(None), torch.Tensor, torch.dtype, ModuleType)
_SKIPPED = {"torch", "builtins", "numpy", "typing", "collections", "enum", "onnxwright"}
_NOT_CALLED = {"__class__", "__dict__", "__weakref__", "__init_subclass__", "__reduce__"}
_CONTAINERS = (dict, list, tuple, set, frozenset)
_INSTEAD = {"isinstance": is_kind, "type": Kind}


@contextmanager
def kinds_as_in_python(model: Any) -> Iterator[None]:
    """While it lasts, the code of a model has `isinstance` and `type` that know numbers.

    Args:
        model: the model; code of PyTorch and of Python itself is left as it is.
    """
    changed: list[tuple[dict[str, Any], str]] = []
    try:
        for function in functions_of(model):
            around = function.__globals__
            for name in _asked(function.__code__):
                if name not in around:
                    around[name] = _INSTEAD[name]
                    changed.append((around, name))
        yield
    finally:
        for around, name in changed:
            del around[name]


def knows_kinds(around: dict[str, Any]) -> bool:
    """Whether code with these globals has `isinstance` or `type` that know numbers."""
    return any(around.get(name) is instead for name, instead in _INSTEAD.items())


@functools.lru_cache(maxsize=4096)
def matches_numbers(code: CodeType) -> bool:
    """Whether code has a pattern such as `case int()`, which calls no `isinstance`."""
    if not {kind.__name__ for kind in KINDS.values()}.intersection(code.co_names):
        return False
    return any(i.opname == "MATCH_CLASS" for i in dis.get_instructions(code))


@functools.lru_cache(maxsize=16384)
def _asked(code: CodeType) -> tuple[str, ...]:
    """Which of `isinstance` and `type` code names."""
    names = _names(code)
    return tuple(name for name in _INSTEAD if name in names)


@functools.lru_cache(maxsize=16384)
def _names(code: CodeType) -> frozenset[str]:
    """The names that code, and functions in it, read as globals or attributes."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(code.co_names).union(*map(_names, inner))


def functions_of(model: Any) -> Iterator[FunctionType]:
    """The functions of users and libraries that a model may call: by the names that they read.

    Args:
        model: a module or a function.

    Yields:
        Each once; none of PyTorch, of this package or of Python itself.
    """
    yield from _Reached(model)


class _Reached:
    """The functions that a model may call, found from its `forward` by names.

    A method counts where its name is read by a function that counts.
    """

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
                self.waiting += value.values() if isinstance(value, dict) else value
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
        names, around = _names(function.__code__), function.__globals__
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
