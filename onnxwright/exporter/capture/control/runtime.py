"""What converted code calls: each logs the write that follows, and gives what Python goes on with.

Outside a capture, and in other threads, each gives its argument.
"""

from __future__ import annotations

import functools
import sys
from collections import defaultdict
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from onnxwright.exporter.capture.control import convert
from onnxwright.exporter.capture.control.convertible import is_convertible
from onnxwright.exporter.capture.control.functions import (
    bound,
    function,
    setter_of,
)
from onnxwright.exporter.capture.control.handlers import Handlers, with_handlers
from onnxwright.exporter.capture.control.iterators import own_iterator
from onnxwright.exporter.capture.control.opaque import note_object
from onnxwright.exporter.capture.control.places import (
    MISSING,
    Cell,
    Items,
    Variable,
    class_value,
    has_items,
)
from onnxwright.exporter.capture.control.store import (
    Store,
    current,
    note_attribute,
    note_elements,
    original,
)
from onnxwright.exporter.capture.session.errors import stops_capture
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.session.stand_ins import Float, Int, Kind, is_kind, truth

_PLAIN_ITEMS = (list, tuple, dict, str, torch.Tensor, torch.Size, torch.nn.Parameter, range, set)
_VIEWS: tuple[Any, ...] = (type({}.items()), type({}.keys()), type({}.values()))
_PLAIN_ITERABLES: tuple[Any, ...] = (
    *_PLAIN_ITEMS, *_VIEWS, enumerate, zip, reversed, frozenset,
)  # fmt: skip


def holder(owner: Any, name: str) -> Any:
    """What has an attribute that is read: the object, but for properties of the user."""
    store = current()
    if store is None:
        return owner
    if store.on_read is not None:
        store.on_read(owner, name)
    kind = type(owner)
    try:
        getter = store.getters[kind, name]
    except KeyError:
        getter = store.getters[kind, name] = _getter(kind, name)
    return owner if getter is None else _Reader(owner, name, getter)


def owner(owner: Any, name: str) -> Any:
    """The owner of an attribute that is set or deleted next; the write is logged."""
    store = current()
    if store is None:
        return owner
    if not isinstance(owner, torch.Tensor) or not hasattr(torch.Tensor, name):
        owner = original(owner)  # what PyTorch keeps, such as `data`, is that of the stand-in
    if setter_of(owner, name) is not None or setter_of(owner, name, "__delete__") is not None:
        return _Writer(owner, name)
    note_attribute(store, owner, name)
    return owner


def items_of(container: Any) -> Any:
    """The owner of items that are set or deleted next; the write is logged."""
    store = current()
    if store is None:
        return container
    if isinstance(container, torch.Tensor):
        note_elements(store, container)
        return container
    if _special(store, type(container), "__setitem__") is not None:
        return _Items(store, container)
    if type(container) is dict and "__builtins__" in container:
        return _Globals(store, container)
    if isinstance(container, torch.nn.Module):
        _note_parts(store, container)
    elif has_items(container):
        store.note(Items(container))
    return container


def _note_parts(store: Store, module: Any) -> None:
    """Log a `ModuleList` or the like; a side's change is seen as one of the whole module."""
    if not store.depth:
        note_object(store, module)


def read(container: Any) -> Any:
    """What has items that are read; a `defaultdict` may get one."""
    store = current()
    kind = kind_of(container)
    if store is None or kind in _PLAIN_ITEMS:
        return container
    if isinstance(container, defaultdict):
        store.note(Items(container))
    if _special(store, kind, "__getitem__") is not None:
        return _Items(store, container)
    return container


def traced(value: Any) -> Any:
    """What stands in this capture for a parameter or buffer, by any name; else the value itself."""
    store = current()
    stand_ins = None if store is None else store.stand_ins
    return value if stand_ins is None else stand_ins.traced(value)


def own_names(namespace: Any) -> Any:
    """What `locals()`, `vars()` and `dir()` gave, without the names of converted code."""
    names = [name for name in namespace if not name.startswith("_ow_")]
    return {name: namespace[name] for name in names} if isinstance(namespace, dict) else names


def iterated(items: Any) -> Any:
    """What a loop goes over."""
    store = current()
    kind = kind_of(items)
    if store is None or kind in _PLAIN_ITERABLES:
        return items
    iterate = _special(store, kind, "__iter__")
    if iterate is not None and not isinstance(items, torch.nn.Module):
        items = bound(iterate)(items)
    return own_iterator(store, items) if hasattr(type(items), "__next__") else items


def entered(manager: Any, line: int) -> Any:
    """The context manager of a `with`."""
    store = current()
    if store is None:
        return manager
    enter = _special(store, type(manager), "__enter__")
    leave = _special(store, type(manager), "__exit__")
    is_own = enter is not None and leave is not None
    return with_handlers(_Context(manager, enter, leave) if is_own else manager, manager, line)


def augmented(value: Any) -> None:
    """`value += ...` of a variable: containers and tensors are changed in place."""
    store = current()
    if store is None:
        return
    if isinstance(value, torch.Tensor):
        note_elements(store, value)
    elif isinstance(value, torch.nn.Module):
        _note_parts(store, value)
    elif has_items(value):
        store.note(Items(value))


def changing(owner: Any) -> Any:
    """The owner of `owner.name += value` or `owner[n] += value`: what it holds is noted, too."""
    plain = isinstance(owner, torch.Tensor) or hasattr(type(owner), "_ow_parts")
    return owner if current() is None or plain else _Changing(owner)


def noted(value: Any) -> Any:
    """A container that is about to be changed."""
    augmented(value)
    return value


def refuse_caught() -> None:
    """Raise again what stops the capture, where an `except` of the program has taken it."""
    error = sys.exc_info()[1]
    if error is not None and current() is not None and stops_capture(error):
        raise error


def callable_(value: Any) -> Any:
    """An argument of a builtin that may call it."""
    return function(value)


def global_(names: dict[str, Any], name: str) -> None:
    """A global variable is about to be bound."""
    store = current()
    if store is not None:
        store.note(Variable(names, name))


def cell(closure: tuple[Any, ...], name: str) -> None:
    """A variable of the function around is about to be bound."""
    store = current()
    if store is not None:
        store.note(Cell(closure[0], name))


# -- functions of the user that Python calls by itself ---------------------------------------------


def _special(store: Store, kind: type, name: str) -> Any:
    """A special method that is converted; None for others."""
    try:
        return store.getters[kind, name]
    except KeyError:
        method = getattr(kind, name, None)
        is_own = type(method) is FunctionType and is_convertible(method)
        store.getters[kind, name] = converted_method = method if is_own else None
        return converted_method


def _getter(kind: type, name: str) -> Callable[[Any], Any] | None:
    """What reads an attribute by a function of the user; None where Python reads it."""
    is_of_classes = issubclass(kind, type)  # of what they have, a property alone comes first
    if issubclass(kind, torch.Tensor):
        return _of_original(name) if class_value(kind, name) is MISSING else None
    every: Any = kind.__getattribute__
    if not is_of_classes and type(every) is FunctionType and is_convertible(every):
        return lambda owner: bound(every)(owner, name)
    inside = class_value(kind, name)
    if isinstance(inside, property):
        get = inside.fget
        return _calling(get) if isinstance(get, FunctionType) and is_convertible(get) else None
    if is_of_classes:
        return None
    if isinstance(inside, functools.cached_property):
        func: Any = inside.func
        return _cached_getter(inside, name) if is_convertible(func) else None
    if inside is not MISSING:
        get = getattr(type(inside), "__get__", None)
        if type(get) is not FunctionType or not is_convertible(get):
            return None
        return lambda owner: bound(get)(inside, owner, kind)
    fallback: Any = getattr(kind, "__getattr__", None)
    if type(fallback) is not FunctionType or not is_convertible(fallback):
        return None
    return lambda owner: object.__getattribute__(owner, name)


def _of_original(name: str) -> Callable[[Any], Any]:
    """What reads an attribute that PyTorch does not know of a tensor of the module."""
    return lambda owner: getattr(owner if name in vars(owner) else original(owner), name)


def _calling(get: FunctionType) -> Callable[[Any], Any]:
    # Bound where it is called: the store may be another one then.
    return lambda owner: bound(get)(owner)  # noqa: PLW0108 - as said


def _cached_getter(inside: Any, name: str) -> Callable[[Any], Any]:
    def get(owner: Any) -> Any:
        names = vars(owner)
        if name not in names:
            store = current()
            value = bound(inside.func)(owner)
            if store is not None:
                note_attribute(store, owner, name)
                store.computed[id(owner), name] = value
            names[name] = value
        return names[name]

    return get


class _Reader:
    """Stands for an object of which one attribute is read by a converted function."""

    def __init__(self, owner: Any, name: str, getter: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "_ow", (owner, name, getter))

    def __getattribute__(self, name: str) -> Any:
        owner, _, getter = object.__getattribute__(self, "_ow")
        try:
            return getter(owner)
        except AttributeError:
            fallback = getattr(type(owner), "__getattr__", None)
            if fallback is None:
                raise
        return bound(fallback)(owner, name)


class _Writer:
    """Stands for an object of which one attribute is set or deleted by a converted function."""

    def __init__(self, owner: Any, name: str) -> None:
        object.__setattr__(self, "_ow", (owner, name))

    def __getattribute__(self, name: str) -> Any:
        owner, _ = object.__getattribute__(self, "_ow")
        return getattr(holder(owner, name), name)

    def __setattr__(self, name: str, value: Any) -> None:
        bound(setattr)(object.__getattribute__(self, "_ow")[0], name, value)

    def __delattr__(self, name: str) -> None:
        bound(delattr)(object.__getattribute__(self, "_ow")[0], name)


class _Items:
    """Stands for an object whose items are read and set by converted functions."""

    def __init__(self, store: Store, owner: Any) -> None:
        self._store, self._owner = store, owner

    def _call(self, name: str, *args: Any) -> Any:
        method = getattr(type(self._owner), name)
        if isinstance(self._owner, (dict, list)) and name != "__getitem__":
            self._store.note(Items(self._owner))
        return bound(method)(self._owner, *args)

    def __getitem__(self, key: Any) -> Any:
        return self._call("__getitem__", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._call("__setitem__", key, value)

    def __delitem__(self, key: Any) -> None:
        self._call("__delitem__", key)


class _Globals:
    """Stands for the names of a file, as `globals()` gives them: each is a variable."""

    def __init__(self, store: Store, names: dict[str, Any]) -> None:
        self._store, self._names = store, names

    def __getitem__(self, name: str) -> Any:
        return self._names[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._store.note(Variable(self._names, name))
        self._names[name] = value

    def __delitem__(self, name: str) -> None:
        self._store.note(Variable(self._names, name))
        del self._names[name]


class _Changing:
    """Stands for an object of which one attribute or item is read, changed and set."""

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_ow", owner)

    def __getattribute__(self, name: str) -> Any:
        return noted(getattr(object.__getattribute__(self, "_ow"), name))

    def __setattr__(self, name: str, value: Any) -> None:
        owner = object.__getattribute__(self, "_ow")
        # A buffer changed in place: PyTorch would note the node of this side as its new value.
        if not isinstance(owner, torch.nn.Module) or owner._buffers.get(name) is not value:
            setattr(owner, name, value)

    def __getitem__(self, key: Any) -> Any:
        return noted(object.__getattribute__(self, "_ow")[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        object.__getattribute__(self, "_ow")[key] = value


class _Context:
    """A context manager whose functions are converted."""

    def __init__(self, manager: Any, enter: FunctionType, leave: FunctionType) -> None:
        self._manager, self._enter, self._leave = manager, enter, leave

    def __enter__(self) -> Any:
        return bound(self._enter)(self._manager)

    def __exit__(self, *error: object) -> Any:
        return bound(self._leave)(self._manager, *error)


__all__ = [
    "Float", "Handlers", "Int", "Kind", "augmented", "bound", "callable_", "cell", "changing",
    "entered",
    "global_", "holder", "is_kind", "items_of", "iterated", "noted", "owner", "read",
    "refuse_caught", "truth",
]  # fmt: skip
convert.set_runtime(sys.modules[__name__])
