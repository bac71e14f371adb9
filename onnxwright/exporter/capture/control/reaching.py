"""Which objects code can reach: those that it did not make itself."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control.places import PLAIN
from onnxwright.exporter.capture.session.model_lines import calling_frame
from onnxwright.exporter.places import CAPTURE

_SKIPPED = frozenset(
    ("torch", "builtins", "numpy", "typing", "collections", "enum", "abc", "sympy", "functools",
     "contextlib", "dataclasses", "types", "inspect", "logging", "warnings", "re", "math")
)  # fmt: skip
_LEAVES = (*PLAIN, torch.Tensor, torch.nn.Parameter, torch.Size, torch.dtype, CodeType)


def reached(
    roots: Iterable[Any],
    ran: Iterable[FunctionType],
    objects: Iterable[Any],
    running: Iterable[tuple[CodeType, dict[str, Any]]] = (),
) -> set[int]:
    """Which of some objects can be reached.

    Args:
        roots: objects and functions; all variables of functions count.
        ran: functions that ran: the globals that they read count, too.
        objects: the objects.
        running: code with its globals, which counts as well.

    Returns:
        The identities of those that are reached.
    """
    left = {id(value) for value in objects}
    if not left:
        return set()
    reached_ids: set[int] = set()
    names: set[str] = set()
    waiting: list[Any] = []
    functions = list(ran)
    for code, around in [*running, *((f.__code__, f.__globals__) for f in functions)]:
        read = names_of(code)
        names |= read
        if id(around) in left:  # by `globals()`
            left.discard(id(around))
            reached_ids.add(id(around))
        waiting += [around[name] for name in read if name in around]
    waiting += functions
    waiting += roots
    seen: set[int] = set()
    while waiting and left:
        value = waiting.pop()
        if type(value) in _LEAVES or id(value) in seen:
            continue
        seen.add(id(value))
        if id(value) in left:
            left.discard(id(value))
            reached_ids.add(id(value))
        waiting += _held(value, names)
    return reached_ids


def _held(value: Any, names: set[str]) -> Iterable[Any]:
    """What an object leads to."""
    if isinstance(value, (list, tuple, set, frozenset, deque, dict)):
        return gc.get_referents(value)  # a subclass may give other items
    if isinstance(value, FunctionType):
        kept = (value.__closure__, value.__defaults__, value.__kwdefaults__, value.__dict__)
        return [part for part in kept if part]
    if isinstance(value, MethodType):
        return value.__self__, value.__func__
    if isinstance(value, ModuleType):
        if value.__name__.partition(".")[0] in _SKIPPED:
            return ()
        own = vars(value)
        return [own[name] for name in names if name in own]
    if isinstance(value, type):
        if value.__module__.partition(".")[0] in _SKIPPED:
            return ()
        return [*value.__bases__, *(v for v in vars(value).values() if not callable(v))]
    if isinstance(value, torch.Tensor):
        return ()
    names_of_object = getattr(value, "__dict__", None)
    held = [names_of_object] if type(names_of_object) is dict else []
    return [*gc.get_referents(value), type(value), *held]


def named_now(candidates: Iterable[Any]) -> set[int]:
    """Which of some objects the functions that run in a capture have a name for.

    Returns:
        The identities of those that their variables, and the globals that they read, lead to.
    """
    objects = [value for value in candidates if type(value) not in _LEAVES]
    if not objects:
        return set()
    frame = calling_frame()
    roots: list[Any] = []
    names: list[tuple[CodeType, dict[str, Any]]] = []
    while frame is not None and frame.f_code.co_filename != CAPTURE:
        if owner_of(frame.f_code.co_filename) in (Owner.USER, Owner.INSTALLED):
            roots += frame.f_locals.values()
            names.append((frame.f_code, frame.f_globals))
        frame = frame.f_back
    return reached(roots, (), objects, names)


def ages() -> tuple[Callable[[Any], bool], Callable[[], None]]:
    """Tell objects that are there now from those made later.

    Python keeps what is there apart for its garbage collector (`gc.freeze`) until the end; where
    somebody did so before, what is there is remembered.

    Returns:
        What says of an object whether it is there now: False of objects that the collector does not
        know, as arrays and dicts of numbers; and what is called at the end.
    """
    others = gc.get_objects() if gc.get_freeze_count() else None
    earlier_ids, since = set(map(id, others or ())), set[int]()

    def was_there(value: Any) -> bool:
        if not gc.is_tracked(value) or id(value) in earlier_ids:
            return id(value) in earlier_ids
        for generation in range(3):  # the youngest, which are few, first
            if id(value) in since:
                break
            since.update(map(id, gc.get_objects(generation)))
        return id(value) not in since

    if others is not None:
        return was_there, others.clear
    gc.freeze()
    return was_there, gc.unfreeze


def names_of(code: CodeType) -> frozenset[str]:
    """The names that code, and functions in it, read as globals or attributes."""
    names = _NAMES.get(code)
    if names is None:
        inner = [names_of(c) for c in code.co_consts if isinstance(c, CodeType)]
        names = _NAMES[code] = frozenset(code.co_names).union(*inner)
    return names


_NAMES: dict[CodeType, frozenset[str]] = {}
