"""The one log of what converted code writes: a side can be taken back, and so can a capture.

Before a place is written to for the first time, the log notes what it holds.  `Store.side` is open
while one side of a decision runs: at its end the places are as before, and the `Side` says what it
wrote.  Objects that a side made itself are not put back: its result may hold them.  `Store.undo`
gives all places back what they held when the capture began.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control.cached_functions import Cached
from onnxwright.exporter.capture.control.places import (
    MISSING,
    Elements,
    Place,
    Variable,
    attribute,
    class_value,
)
from onnxwright.exporter.capture.control.reaching import reached
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.program_lists import is_rows
from onnxwright.exporter.capture.session.stand_ins import StandIns

FACTORY = "_ow_factory"
"""The function that makes rewritten ones: names of functions that these make begin with it."""


@dataclass(frozen=True)
class Entry:
    """A place, what it held, and the line that wrote to it first."""

    place: Place
    before: Any
    line: tuple[str, int]


@dataclass
class Write:
    """What was written to one place.

    Fields:
        place: the place.
        before, after: what it held at first and at the end.
        line: where it was written to first.
    """

    place: Place
    before: Any
    after: Any
    line: tuple[str, int]


_Log = dict[tuple[Any, ...], Entry]


class Side:
    """One side of a decision, or another part whose writes may be taken back.

    Args:
        store: the log.
        roots: the functions that the side runs: objects that they do not reach are its own.

    Fields:
        writes: what it wrote to places of before, in order; complete when it has ended.
        is_kept: whether places have what it wrote after it has ended.
        seen: all places that it wrote to, when it has ended: the identity of the owner, the name.
    """

    def __init__(self, store: Store, roots: tuple[Any, ...]) -> None:
        self._store, self._roots = store, roots
        self._log: _Log | None = {}
        self.is_kept = False
        self.seen: frozenset[tuple[int, str | None]] = frozenset()
        self.writes: list[Write] = []

    @property
    def log(self) -> _Log:
        """What places held that it wrote to."""
        assert self._log is not None
        return self._log

    def end(self) -> list[Write]:
        """Give all places of before back what they held.

        Returns:
            What the side wrote.
        """
        if self._log is not None:
            log, self._log = self._log, None
            self.seen = frozenset((id(e.place.owner), e.place.name) for e in log.values())
            self._store.close(log)
            self.writes = self._store.taken_back(log, self._roots, self._store.functions.values())
        return self.writes

    def keep(self) -> list[Write]:
        """Leave all places as they are; what is around the side has written to them then.

        Returns:
            What the side wrote.
        """
        self.is_kept = True
        if self._log is not None:
            log = self.log
            self.end()
            for write in self.writes:
                self._store.add(log[write.place.key])
                write.place.put(write.after)
        return self.writes


class Store:
    """The log of one capture.

    Args:
        writes_buffers: leave what is written into buffers.

    Fields:
        functions: the functions that ran, by their code.
        on_function: is called with each before it runs for the first time.
        snapshot: what the module and these functions reach; None outside a capture.
        was_there: says of an object whether it is known to be there since before the capture.
        read_names: the attributes that `getattr` was asked for.
        code_for: gives the code of functions that run with their decisions rewritten.
        on_write: is called with each place that the program is about to write to.
        on_opaque: is called with each function that is not converted, and what it is given.
        on_read: is called with each object of which an attribute is read, and its name.
        memo: what cached functions gave in this capture.
        copies: iterators of before -> copies that are used up, and what these were at first.
        made: iterators that the capture made.
        getters: what reads attributes of classes, where it is a function of the user.
        computed: what properties that keep their value gave: identity of the owner, name -> it.
        stand_ins: the tensors that stand for those of the module.
        outside: the functions of the clock and the like that were called -> the line of the first.
    """

    def __init__(self, *, writes_buffers: bool = False) -> None:
        self.writes_buffers = writes_buffers
        self.on_function: Callable[[FunctionType], None] | None = None
        self.snapshot: Any = None
        self.was_there: Callable[[Any], bool] = lambda value: False
        self.code_for: Callable[[FunctionType], CodeType | None] | None = None
        self.on_write: Callable[[Place], None] | None = None
        self.on_opaque: Callable[..., None] | None = None
        self.on_read: Callable[[Any, str], None] | None = None
        self._logs: list[_Log] = [{}]
        self._settled: list[Write] | None = None
        self.functions: dict[CodeType, FunctionType] = {}
        self.read_names: set[str] = set()
        self.memo: dict[Any, Cached] = {}
        self.copies: dict[int, tuple[Any, Any, str]] = {}
        self.made: dict[int, Any] = {}
        self.computed: dict[tuple[int, str], Any] = {}
        self.stand_ins: StandIns | None = None
        self.outside: dict[str, tuple[str, int]] = {}
        self.getters: dict[tuple[type, str], Any] = {}

    @property
    def depth(self) -> int:
        """How many sides are open."""
        return len(self._logs) - 1

    def is_of_before(self, value: Any) -> bool:
        """Whether something of before the capture leads to an object."""
        return self.snapshot is not None and id(value) in self.snapshot.seen

    def ran(self, function: FunctionType) -> None:
        """Remember that a function runs."""
        if owner_of(function.__code__.co_filename) is Owner.TORCH:
            return
        if function.__code__ not in self.functions:
            self.functions[function.__code__] = function
            if self.on_function is not None and not self._is_made(function):
                self.on_function(function)

    def _is_made(self, function: FunctionType) -> bool:
        """Whether a function that ran makes it: what it alone has is of this capture.

        One that an earlier call made is reached from where that call left it.
        """
        if function.__qualname__.startswith(FACTORY):
            return True
        parts, file = function.__qualname__.split(".<locals>."), function.__code__.co_filename
        outer = {".<locals>.".join(parts[:n]) for n in range(1, len(parts))}
        return any(
            f.__qualname__ in outer and f.__code__.co_filename == file
            for f in (self.functions.values() if outer else ())
        )

    def note(self, place: Place) -> None:
        """Remember what a place holds that the program is about to write to."""
        if self.on_write is not None:
            self.on_write(place)
        self.log(place)

    def log(self, place: Place) -> None:
        """Remember what a place holds that is about to be given a value."""
        log = self._logs[-1]
        if place.key not in log:
            log[place.key] = Entry(place, place.read(), model_line())

    def note_first(self, place: Place) -> None:
        """The same for the whole capture: no side takes back what is written to the place."""
        if place.key not in self._logs[0]:
            self._logs[0][place.key] = Entry(place, place.read(), model_line())

    def cached(self, key: Any, make: Callable[[], Any], of_run_time: Any = None) -> Any:
        """What a cached function gives: it makes it once; what it makes is complete then.

        Args:
            key: the function and its arguments.
            make: calls it.
            of_run_time: the arguments, if some are known at run time: it is made for this side.
        """
        log = self._logs[-1]
        if of_run_time is not None:
            key = (*key, id(log))
        if key not in self.memo:
            before = set(log)
            value = make()
            new = [e.place for k, e in log.items() if k not in before]
            ids = reached((value,), (), [p.owner for p in new if not self.was_there(p.owner)])
            for place in new:
                if id(place.owner) in ids:
                    del log[place.key]
            version = getattr(value, "_version", None)
            self.memo[key] = Cached(value, version, model_line(), (log, of_run_time))
        return self.memo[key].value

    def write(self, place: Place, value: Any) -> None:
        """Let a place hold a value, which is what `Place.read` gives of it."""
        self.note(place)
        place.put(value)

    @contextmanager
    def side(self, *roots: Any) -> Iterator[Side]:
        """Take back at the end what is written while this is open.

        Args:
            roots: the functions that run.
        """
        one = Side(self, roots)
        self._logs.append(one.log)
        try:
            yield one
        finally:
            one.end()

    def close(self, log: _Log) -> None:
        """Write to the log around one again."""
        self._logs = [one for one in self._logs if one is not log]

    def add(self, entry: Entry) -> None:
        """Note a write that a side made."""
        self._logs[-1].setdefault(entry.place.key, entry)

    def settle(self) -> None:
        """Remember what the capture wrote so far, before others put it back.

        PyTorch compares the attributes of the module with those of before, item by item: lists
        of a run-time length have their items of before again.  What holds what it held is as
        PyTorch has it while it traces, and its own to put back.
        """
        if self._settled is not None:
            return
        log = self._logs[0]
        self._settled = _writes(log)
        changed = {write.place.key for write in self._settled}
        for key in [key for key in log if key not in changed]:
            del log[key]
        for write in self._settled:
            if is_rows(write.after):
                write.place.put(write.before)

    def undo(self, *roots: Any, old: frozenset[int] = frozenset()) -> list[Write]:
        """Give all places of before back what they held at first.

        Args:
            roots: what was there before, beside what the functions reach.
            old: the identities of further objects that were there before.

        Returns:
            The places that held something else at the end.
        """
        for log in self._logs[:0:-1]:
            _put_back(log)
        ran = [f for f in self.functions.values() if not self._is_made(f)]
        writes = self.taken_back(self._logs[0], roots, ran, self._settled or (), old)
        self._logs, self._settled = [{}], None
        return writes

    def put_back(self) -> None:
        """Give all places back what they held at first, those of objects made since, too."""
        for log in reversed(self._logs):
            _put_back(log)
        self._logs, self._settled = [{}], None
        for kept in (self.memo, self.copies, self.made, self.getters, self.computed):
            kept.clear()
        # What held PyTorch's stand-in for a tensor, as that run began to write, holds it again.
        if self.snapshot is not None:
            self.snapshot.restore()

    def taken(self, *roots: Any, old: frozenset[int] = frozenset()) -> list[tuple[str, str, str]]:
        """The iterators of before of which copies were used up.

        Args:
            roots: what was there before, beside what the functions reach.
            old: the identities of further objects that were there before.

        Returns:
            Each as text, and its copy as text at first and at the end.
        """
        copies = self.copies.values()
        asked = [items for items, *_ in copies if id(items) not in old]
        old = old | reached(roots, self.functions.values(), asked)
        return [(repr(items), text, repr(copy)) for items, copy, text in copies if id(items) in old]

    def changed_in_cache(self) -> list[tuple[str, int]]:
        """Where functions are called whose results are changed in place: the cache has them."""
        cached = self.memo.values()
        return [one.line for one in cached if one.version != getattr(one.value, "_version", None)]

    def taken_back(
        self,
        log: _Log,
        roots: Iterable[Any],
        ran: Iterable[FunctionType],
        settled: Iterable[Write] = (),
        old: frozenset[int] = frozenset(),
    ) -> list[Write]:
        """Put back what a log notes of objects of before; objects made since keep what they hold.

        Args:
            log: the log.
            roots, ran: what was there before, and functions that ran and reach what was there.
            settled: writes that others have put back.
            old: the identities of further objects of before.

        Returns:
            The writes to objects of before.
        """
        settled_keys = {w.place.key for w in settled}
        writes = [*settled, *(w for w in _writes(log) if w.place.key not in settled_keys)]
        _put_back(log)
        owners = [w.place.owner for w in writes if not _is_old(w.place)]
        # What a cached function gave is there in the next call, too.
        there = (*roots, *(one.value for one in self.memo.values()))
        old = old | reached(there, ran, [one for one in owners if id(one) not in old])
        kept: list[Write] = []
        for write in writes:
            owner = write.place.owner
            if _is_old(write.place) or id(owner) in old or self.was_there(owner):
                kept.append(write)
            else:
                write.place.put(write.after)
        return kept

    def forget(self) -> None:
        """Let go of all objects."""
        self.functions.clear()
        self.on_function = self.snapshot = None
        if self.stand_ins is not None:
            self.stand_ins.forget()
        for kept in (self.memo, self.copies, self.made, self.getters):
            kept.clear()


def _is_old(place: Place) -> bool:
    """Whether the owner of a place is one that a function rarely makes."""
    return isinstance(place, Variable) or isinstance(place.owner, (type, ModuleType))


def _writes(log: _Log) -> list[Write]:
    writes = [Write(e.place, e.before, e.place.read(), e.line) for e in log.values()]
    return [w for w in writes if not w.place.is_same(w.before, w.after)]


def _put_back(log: _Log) -> None:
    for entry in reversed(list(log.values())):
        entry.place.put(entry.before)


_now = threading.local()


def current() -> Store | None:
    """The store of this thread; None outside a capture.

    None as well where TorchDynamo traces (branches of `torch.cond`, strict captures): it follows
    writes by itself, and cannot follow the log.
    """
    if torch.compiler.is_dynamo_compiling():
        return None
    return getattr(_now, "store", None)


@contextmanager
def opened(store: Store | None) -> Iterator[Store | None]:
    """Make a store that of this thread; with None, code runs as it is."""
    close = open_store(store)
    try:
        yield store
    finally:
        close()


def open_store(store: Store | None) -> Callable[[], None]:
    """The same until what is returned is called."""
    before = current()
    _now.store = store
    return lambda: setattr(_now, "store", before)


def original(value: Any) -> Any:
    """What a tensor or a module stands for in this capture; the value itself without that."""
    store = current()
    stand_ins = None if store is None else store.stand_ins
    return value if stand_ins is None else stand_ins.original(value)


def note_attribute(store: Store, owner: Any, name: str) -> None:
    """Tell the store that an attribute is about to be set."""
    if hasattr(type(owner), "_ow_parts"):  # each candidate is noted when it is written
        return
    if store.writes_buffers and name in (getattr(owner, "_buffers", None) or ()):
        return
    if isinstance(owner, torch.Tensor) and class_value(type(owner), name) is not MISSING:
        return  # what PyTorch stores: `grad`, `requires_grad`
    if isinstance(name, str):
        store.note(attribute(owner, name))


def note_elements(store: Store, tensor: torch.Tensor) -> None:
    """Tell the store that a tensor is about to be written to, if it has values of its own."""
    # Buffers have no values while PyTorch traces; where a module runs, they may keep theirs.
    is_buffer = store.stand_ins is not None and store.stand_ins.is_own(tensor)
    if type(tensor) is torch.Tensor and not store.writes_buffers and not is_buffer:
        store.note_first(Elements(tensor))
