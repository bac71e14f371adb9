"""What opaque functions may change of what they are given: it is logged before they run."""

from __future__ import annotations

import dis
import functools
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control.convertible import is_convertible
from onnxwright.exporter.capture.control.places import (
    PLAIN,
    Cell,
    Items,
    Place,
    Variable,
    has_items,
)
from onnxwright.exporter.capture.control.store import Store
from onnxwright.exporter.capture.session.errors import OpaqueCallError
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.places import is_of_user


def is_of_python(f: Any) -> bool:
    """Whether a function is one of Python's library that is not converted."""
    code = getattr(f, "__code__", None)
    return code is not None and owner_of(code.co_filename) is Owner.PYTHON and not is_convertible(f)


def note_object(store: Store, owner: Any) -> None:
    """Log an object that a method of it may change, and the containers that it is read for."""
    names = getattr(owner, "__dict__", {})
    is_module = isinstance(owner, torch.nn.Module)  # which has parts and hooks in private dicts
    held = [v for name, v in names.items() if is_module or not name.startswith("_")]
    for value in (names, *held):
        if has_items(value):
            store.note(Items(value))


def call_noted(store: Store, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call an opaque function that may change what it is given."""
    owner = getattr(f, "__self__", None)
    for value in (owner, *args, *kwargs.values()):
        if store.depth and not _is_flat(value):
            raise OpaqueCallError(getattr(f, "__qualname__", repr(f)), type(value).__name__)
        if has_items(value):
            store.note(Items(value))
        elif isinstance(getattr(value, "__dict__", None), dict) and not isinstance(
            value, (type, ModuleType, FunctionType, torch.Tensor)
        ):
            store.note(Items(vars(value)))
    return f(*args, **kwargs)


def _is_flat(value: Any) -> bool:
    """Whether the store sees all that a function may change of a value."""
    if isinstance(value, (dict, list, set, tuple)):
        items = value.values() if isinstance(value, dict) else value
        return all(type(v) in PLAIN or isinstance(v, torch.Tensor) for v in items)
    if has_items(value) or isinstance(value, (type, ModuleType, torch.Tensor)):
        return True
    return not is_of_user(getattr(sys.modules.get(type(value).__module__), "__file__", None) or "")


# -- what the code of a function binds and changes, by its bytecode --------------------------------

_STORES = ("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "DELETE_ATTR", "DELETE_SUBSCR",
           "DELETE_GLOBAL", "STORE_SLICE")  # fmt: skip


@dataclass(frozen=True)
class Written:
    """What a function writes.

    Fields:
        places: the variables of others that it binds.
        is_any: whether it writes to anything but its own variables.
    """

    places: tuple[Place, ...]
    is_any: bool


def written_by_code(function: FunctionType) -> Written:
    """What a function writes by itself, without the functions that it calls.

    Example:
        >>> written_by_code(lambda x: x + 1).is_any
        False
    """
    names, free, is_any = _written(function.__code__)
    places: list[Place] = [Variable(function.__globals__, name) for name in sorted(names)]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    places += [Cell(cells[name], name) for name in sorted(free)]
    return Written(tuple(places), is_any or bool(places))


@functools.lru_cache(maxsize=4096)
def _written(code: CodeType) -> tuple[frozenset[str], frozenset[str], bool]:
    names, free, is_any = set(), set(), False
    for i in dis.get_instructions(code):
        if i.opname == "STORE_GLOBAL":
            names.add(str(i.argval))
        elif i.opname == "STORE_DEREF" and i.argval in code.co_freevars:
            free.add(str(i.argval))
        is_any |= i.opname in _STORES
    return frozenset(names), frozenset(free), is_any


# -- functions that give another value at each call, though the program writes nothing -------------
# A capture calls them once: the value that it got is a constant of the model, which is reported.
# Generators of random numbers have a state that `settings` looks at.

# Each, and the number of arguments with which it computes from them alone.
_NAMES: dict[str, int | None] = {
    **dict.fromkeys(("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns")),
    **dict.fromkeys(("time.perf_counter", "time.perf_counter_ns", "time.process_time")),
    **dict.fromkeys(("time.process_time_ns", "time.thread_time", "time.thread_time_ns")),
    **dict.fromkeys(("time.localtime", "time.gmtime", "time.ctime", "time.asctime"), 1),
    "time.strftime": 2,
    **dict.fromkeys(("datetime.datetime.now", "datetime.datetime.utcnow")),
    **dict.fromkeys(("datetime.datetime.today", "datetime.date.today")),
    **dict.fromkeys(("os.urandom", "uuid.uuid1", "uuid.uuid4", "secrets.randbelow")),
    **dict.fromkeys(("secrets.randbits", "secrets.choice", "secrets.token_bytes")),
    **dict.fromkeys(("secrets.token_hex", "secrets.token_urlsafe")),
}


def _reader(name: str, f: Any, argument_count: int | None) -> Callable[..., Any]:
    """`f`, which tells the store that it was asked."""

    def read(store: Store, /, *args: Any, **kwargs: Any) -> Any:
        if argument_count is None or len(args) < argument_count:
            store.outside.setdefault(name, model_line())
        return f(*args, **kwargs)

    return read


_FUNCTIONS = {name: pkgutil.resolve_name(name) for name in _NAMES}
OUTSIDE: dict[Any, Callable[..., Any]] = {
    f: _reader(name, f, _NAMES[name]) for name, f in _FUNCTIONS.items()
}
"""The functions -> what does the same and tells the store: `f(store, *args)`."""
