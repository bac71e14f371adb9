"""What opaque functions may change of what they are given: it is logged before they run."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control.convertible import is_convertible
from onnxwright.exporter.capture.control.errors import OpaqueCallError
from onnxwright.exporter.capture.control.places import PLAIN, Items, has_items
from onnxwright.exporter.capture.control.store import Store
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
