"""A module is run, and the process is as it was: what was written is taken back, and reported."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from onnxwright.exporter.capture.control import convert
from onnxwright.exporter.capture.control import runtime as _runtime  # noqa: F401 - says which
from onnxwright.exporter.capture.control.convertible import is_convertible
from onnxwright.exporter.capture.control.held_objects import HeldTensors
from onnxwright.exporter.capture.control.places import (
    MISSING,
    PLAIN,
    Attribute,
    Cell,
    Elements,
    Items,
    ModuleAttribute,
    Place,
    Variable,
    is_array,
    is_same,
)
from onnxwright.exporter.capture.control.reaching import ages
from onnxwright.exporter.capture.control.settings import Settings
from onnxwright.exporter.capture.control.snapshot import Snapshot
from onnxwright.exporter.capture.control.store import Store, Write, current, open_store
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.program_lists import is_rows
from onnxwright.exporter.capture.session.stand_ins import StandIns
from onnxwright.exporter.places import is_of_user
from onnxwright.exporter.torch_internals import tracing
from onnxwright.exporter.torch_lock import TORCH_LOCK

# -- calls below `forward` go through `bound` while a store is open --------------------------------


def convert_calls(changes: Changes, store: Store) -> None:
    """Run what modules call as converted copies.

    The one function of PyTorch that is replaced is the one by which a module calls its `forward`
    and its hooks; other threads run it as it was, since they have no store.

    Args:
        changes: undo it; they are made with torch's lock.
        store: gets what is written; functions run in it with the code that they have in the one
            around.
    """
    around = current()
    if around is not None:
        store.code_for = around.code_for
    changes.later(open_store(store))
    before = torch.nn.Module._call_impl
    converted_call = convert.converted(before)
    if converted_call is not None and not convert.is_converted(before.__code__):
        changes.attribute(torch.nn.Module, "_call_impl", converted_call)


# -- keeping ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A place that running a module leaves with another value, so that the next call reads it.

    Fields:
        name: what the user calls it.
        before, after: its values, as text.
        line: where it is written to; empty where that is not known.
    """

    name: str
    before: str
    after: str
    line: tuple[str, int] = ("", 0)


@dataclass(frozen=True)
class Reading:
    """A function that gives another value at each call, such as the clock, is called.

    Fields:
        name: the function.
        line: where it is called first.
    """

    name: str
    line: tuple[str, int]


_IN_CACHE = ("what the function gave", "what was written to it")


@contextmanager
def held_state_kept(
    module: torch.nn.Module,
    changes: list[Change | Reading],
    *,
    writes_buffers: bool = False,
    converts: bool = True,
) -> Iterator[None]:
    """Take back what running a module does to anything beside its parameters and inputs.

    Args:
        module: what is run.
        changes: what changes and is read by a function that ran, and clocks, are added here.
        writes_buffers: leave what is written into buffers.
        converts: whether functions run as converted copies, which tell of their writes.
    """
    store = Store(writes_buffers=writes_buffers)
    snapshot = Snapshot(module, writes_buffers=writes_buffers)
    store.on_function, store.snapshot = snapshot.add, snapshot
    store.stand_ins = StandIns(module)
    settings = Settings()
    tensors = HeldTensors(module, list(module.buffers()) if writes_buffers else ())
    patches = Changes()
    store.was_there, end_ages = ages()
    try:
        with TORCH_LOCK if converts else nullcontext():
            try:
                _settle_before_torch(patches, store)
                if converts:
                    convert_calls(patches, store)
                else:
                    patches.later(open_store(None))
                yield
            finally:
                patches.undo()
    finally:
        # PyTorch gave the module copies of its containers: the snapshot has those of before.
        there, old = (module, snapshot.held()), snapshot.identities()
        try:
            written = store.undo(*there, old=old)
        finally:
            end_ages()
        codes, read = tuple(store.functions), frozenset(store.read_names)
        taken = store.taken(*there, old=old)
        # A later call reads what such a property gave, and computes the same with it.
        written = [
            w for w in written
            if not _is_computed(w, store.computed) and not _is_stand_in(w, store.stand_ins)
        ]  # fmt: skip
        unseen = snapshot.restore()
        names = snapshot.names
        cached = store.changed_in_cache()
        store.forget()
        for name, before, after in taken:
            changes.append(Change(name, before, after if after != before else "its next items"))
        changes += [Change("a tensor of a cached function", *_IN_CACHE, line) for line in cached]
        _add_changes(changes, written, codes, names, read)
        _add_changes(changes, unseen, None, names)
        for setting, old_value, new_value in settings.restore():
            if setting.decides:
                changes.append(Change(setting.name, *_texts(str(old_value), str(new_value))))
        changes += [Reading(name, line) for name, line in store.outside.items()]
        tensors.restore()


def _is_computed(write: Write, computed: Mapping[tuple[int, str], Any]) -> bool:
    """Whether a place holds what its `cached_property` gave, and that is the same in each call."""
    value = computed.get((id(write.place.owner), str(write.place.name)), MISSING)
    parts = value if type(value) is tuple else (value,)
    if value is MISSING or any(type(part) not in PLAIN for part in parts):
        return False  # what a list or an object holds may change
    is_of_module = isinstance(write.place, ModuleAttribute)
    return (write.after[0] if is_of_module else write.after) is value


def _is_stand_in(write: Write, stand_ins: StandIns) -> bool:
    """Whether a place holds what stands for the parameters and buffers that it held."""
    after = write.after
    if type(after) is dict:
        after = {key: stand_ins.original(value) for key, value in after.items()}
    elif type(after) is list:
        after = [stand_ins.original(value) for value in after]
    return write.place.is_same(write.before, after)


def _settle_before_torch(changes: Changes, store: Store) -> None:
    """Note what was written before PyTorch itself sets attributes back, as its capture does."""
    name = "_detect_attribute_assignment"
    original = getattr(tracing, name, None)
    if original is None:
        return

    @contextmanager
    def watched(module: Any) -> Iterator[None]:
        with original(module):
            try:
                yield
            finally:
                store.settle()

    changes.attribute(tracing, name, watched)


# -- what is reported ------------------------------------------------------------------------------


def _add_changes(
    changes: list[Change | Reading],
    writes: list[Write],
    codes: Sequence[CodeType] | None,
    names: dict[int, str],
    read: frozenset[str] = frozenset(),
) -> None:
    """Add the writes to places of before that a function that ran reads.

    Args:
        changes: gets them.
        writes: the writes.
        codes: of the functions that ran; None if all places are read.
        names: what the user calls objects, by their identities.
        read: the names that were asked for at run time.
    """
    reported = {one.name for one in changes}
    for write in writes:
        place = write.place
        if codes is not None and place.name not in read and not _is_read(place, codes):
            continue
        if isinstance(place, Variable) and isinstance(write.after, ModuleType):
            continue  # an import
        for name, before, after in _parts(write, names):
            texts = _texts(described(before), described(after))
            if name not in reported:
                reported.add(name)
                changes.append(Change(name, *texts, write.line))


def _texts(before: str, after: str) -> tuple[str, str]:
    """Two values as text, which differs."""
    if before == after:
        return before, f"another {after.partition(' ')[2] or after}"
    return before, after


def _parts(write: Write, names: dict[int, str]) -> list[tuple[str, Any, Any]]:
    """What changed, by what the user calls it: items of a list or a dict one by one."""
    place, before, after = write.place, write.before, write.after
    if isinstance(place, Items) and not is_rows(after):
        name = names.get(id(place.owner))
        if name is None:
            name = path_in_modules(place.owner) or place.text
        if isinstance(before, dict) and len(before) == len(after):
            keys = [k for k in before if k in after and not is_same(before[k], after[k])]
            if not keys:  # their order
                return [(name, before, after)]
            # The names of a file, by `globals()`, are its variables.
            return [(f"{name}[{k!r}]" if name else str(k), before[k], after[k]) for k in keys]
        if isinstance(before, list) and len(before) == len(after):
            pairs = enumerate(zip(before, after))
            return [(f"{name}[{n}]", a, b) for n, (a, b) in pairs if not is_same(a, b)]
        return [(name, before, after)]
    owner_name = names.get(id(place.owner))
    if owner_name is None or isinstance(place, (Variable, Cell)):
        return [(place.text, before, after)]
    text = place.name or owner_name
    if owner_name in ("", text) or text.startswith((f"{owner_name}.", f"{owner_name}[")):
        return [(text, before, after)]
    return [(f"{owner_name}.{place.name}", before, after)]


def path_in_modules(value: Any) -> str:
    """The module that has an object as an attribute, and its name there; empty without one.

    Args:
        value: the object; the module of its class, and the shortest path, are preferred.

    Example:
        >>> import os
        >>> path_in_modules(os.environ)
        'os.environ'
    """
    paths = [
        f"{module}.{name}"
        for module, of in list(sys.modules.items())
        for name, held in list(getattr(of, "__dict__", {}).items())
        if held is value
    ]
    home = f"{type(value).__module__}."
    return min(paths, key=lambda path: (not path.startswith(home), len(path), path), default="")


def _is_read(place: Place, codes: Sequence[CodeType]) -> bool:
    """Whether one of some functions reads a place; items, and what Python reads, count as read."""
    if isinstance(place, (Items, Elements)) or place.name is None:
        return True
    if isinstance(place, (Attribute, ModuleAttribute)):
        kind: type = type(place.owner)
        if place.is_of_python or place.name in _read_by_class(kind) or _is_of_others(place.owner):
            return True
    loaded = frozenset[str]().union(*map(names_loaded, codes))
    return place.name in loaded or not loaded.isdisjoint(("vars", "__dict__"))


def _is_of_others(owner: Any) -> bool:
    """Whether an object is a class or a module of Python or PyTorch, which may read it anywhere."""
    if not isinstance(owner, (type, ModuleType)):
        return False
    module = sys.modules.get(owner.__module__) if isinstance(owner, type) else owner
    if getattr(module, "__spec__", None) is None:  # the program that runs, or made by the user
        return False
    return not is_of_user(getattr(module, "__file__", None) or "")


@functools.lru_cache(maxsize=1024)
def _read_by_class(kind: type) -> frozenset[str]:
    """The names that methods of a class read which are not converted, as those of PyTorch."""
    bases = [base for base in kind.__mro__ if base is not torch.nn.Module]
    methods = [v for base in bases for v in vars(base).values() if isinstance(v, FunctionType)]
    opaque = (f.__code__ for f in methods if not is_convertible(f))
    return frozenset[str]().union(*map(names_loaded, opaque))


@functools.lru_cache(maxsize=16384)
def names_loaded(code: CodeType) -> frozenset[str]:
    """The names of variables and attributes that code, and functions in it, read; all texts."""
    names: set[str] = set()
    for i in dis.get_instructions(code):
        if i.opname.startswith(("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME",
                                "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_SUPER_ATTR",
                                "LOAD_FROM_DICT_OR")):  # fmt: skip
            names.add(str(i.argval))
        elif i.opname == "LOAD_CONST" and isinstance(i.argval, str):
            names.add(i.argval)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            names |= names_loaded(one)
    return frozenset(names)


def described(value: Any) -> str:
    """A value as short text for a message; of a module, its class."""
    if type(value) is list and len(value) == 4 and MISSING in value[1:]:
        value = next((v for v in value if v is not MISSING), MISSING)  # of a `ModuleAttribute`
    if value is MISSING:
        return "nothing"
    if is_rows(value):
        return "a list of a run-time length"
    if hasattr(type(value), "_ow_parts"):
        return "one of several values"
    if type(value) in PLAIN:
        return repr(value)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return "a number of the inputs"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {[n if isinstance(n, int) else str(n) for n in value.shape]}"
    if is_array(value):
        return f"an array of shape {list(value.shape)}"
    if isinstance(value, (list, tuple, dict, set)):
        if all(type(v) in PLAIN for v in (value.values() if isinstance(value, dict) else value)):
            text = repr(value)
            if len(text) <= 60:
                return text
        items = "1 item" if len(value) == 1 else f"{len(value)} items"
        return f"a {type(value).__name__} of {items}"
    return type(value).__name__
