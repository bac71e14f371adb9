"""Functions of Python that misread a number of run time without an error.

PyTorch gives the name of a symbol (`u0`) as its text: as a key of a dict, or compared with another
text, it is a wrong answer.  `ok is True` and `isinstance(n, float)` are False, whatever the value:
objects of PyTorch stand for the numbers.  Rewritten code reads them as Python would.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv, free_unbacked_symbols

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.assumptions.decisions import outside_of_torch, sym_node_wrapped
from onnxwright.exporter.capture.control.convert import original
from onnxwright.exporter.capture.reached_functions import reached_functions
from onnxwright.exporter.capture.replacements.number_kinds import (
    KINDS,
    knows_kinds,
    matches_numbers,
)
from onnxwright.exporter.capture.source.conversions import Conversions
from onnxwright.exporter.capture.source.expressions import is_rewritten
from onnxwright.exporter.capture.source.machinery import is_machinery
from onnxwright.exporter.capture.source.text_uses import is_used
from onnxwright.exporter.places import CAPTURE, is_of_user, line_of

_NEW_NUMBERS = ("create_unbacked_symint", "create_unbacked_symfloat", "create_unbacked_symbool")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_CLASSES = {kind.__name__ for kind in KINDS.values()}
_SIZES = {"shape", "size", "len", "numel"}
_now = threading.local()


@dataclass
class Misread:
    """What misread numbers of run time.

    Fields:
        functions: the functions, by their code.
        texts: the files and lines that made a text of one.
        kinds: the functions that asked what kind of object one is; the lines where they took it.
    """

    functions: Conversions = field(default_factory=dict)
    texts: dict[tuple[str, int], None] = field(default_factory=dict)
    kinds: dict[tuple[str, int], None] = field(default_factory=dict)

    def warn(self) -> None:
        """Warn of each (OW885, OW861)."""
        for place in self.texts:
            warn(messages.TextOfNumber(span=line_of(*place)))
        for place in self.kinds:
            warn(messages.KindOfNumber(span=line_of(*place)))


@contextmanager
def misread_recorded(model: Any) -> Iterator[Misread]:
    """While it lasts, functions that misread a number of run time are recorded.

    Args:
        model: the model that is captured.

    Yields:
        The functions.  Texts of errors and of calls whose result nobody reads, such as `print` and
        `warnings.warn`, do not count.
    """
    found, before = Misread(), getattr(_now, "misread", None)
    _now.misread = found
    try:
        with ExitStack() as stack:
            stack.enter_context(_texts(found))
            stack.enter_context(_kinds(found))
            stack.enter_context(_matches(found, model))
            yield found
    finally:
        _now.misread = before


def take_misread() -> Misread:
    """What was recorded in this thread since this was called last."""
    now: Misread | None = getattr(_now, "misread", None)
    if now is None:
        return Misread()
    taken = Misread(dict(now.functions), dict(now.texts), dict(now.kinds))
    for part in (now.functions, now.texts, now.kinds):
        part.clear()
    return taken


@contextmanager
def _texts(found: Misread) -> Iterator[None]:
    before = {name: getattr(torch.SymInt, name) for name in ("__str__", "__repr__")}

    def recording(method: Callable[[torch.SymInt], str]) -> Callable[[torch.SymInt], str]:
        def text(self: torch.SymInt) -> str:
            frame = sys._getframe(1)
            place = frame.f_code.co_filename, frame.f_lineno
            if _is_number_of_run_time(self, place[0]) and is_used(*place):
                if free_unbacked_symbols(self):
                    found.functions.setdefault(frame.f_code, frame)
                found.texts.setdefault(place)
            return method(self)

        return text

    for name, method in before.items():
        setattr(torch.SymInt, name, recording(method))
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(torch.SymInt, name, method)


def _is_number_of_run_time(number: torch.SymInt, file: str) -> bool:
    """Whether a text of a number, made in a file, is the name of a symbol.

    Libraries make texts of sizes for messages; of values, they rarely do.
    """
    if _is_of_a_library(file):
        return False
    if free_unbacked_symbols(number):
        return True
    return owner_of(file) is not Owner.INSTALLED and bool(number.node.expr.free_symbols)


@contextmanager
def _kinds(found: Misread) -> Iterator[None]:
    """Record functions that take or compare a number, and ask what kind of object one is."""
    before = {name: getattr(ShapeEnv, name) for name in _NEW_NUMBERS}

    def record(frame: FrameType | None) -> None:
        if frame is not None and _asks_for_kind(frame.f_code, knows_kinds(frame.f_globals)):
            if is_of_user(frame.f_code.co_filename):
                found.functions.setdefault(frame.f_code, frame)
                found.kinds.setdefault((frame.f_code.co_filename, frame.f_lineno))

    def taking(method: Callable[..., Any]) -> Callable[..., Any]:
        def take(*operands: Any) -> Any:
            record(_taker(sys._getframe(1)))
            return method(*operands)

        return take

    def comparing(method: Callable[..., Any]) -> Callable[..., Any]:
        def compare(*operands: Any) -> Any:
            record(outside_of_torch(sys._getframe(1)))
            return method(*operands)

        return compare

    with ExitStack() as stack:
        for name in _COMPARISONS:
            stack.enter_context(sym_node_wrapped(name, comparing(getattr(SymNode, name))))
        for name, method in before.items():
            setattr(ShapeEnv, name, taking(method))
        try:
            yield
        finally:
            for name, method in before.items():
                setattr(ShapeEnv, name, method)


@contextmanager
def _matches(found: Misread, model: Any) -> Iterator[None]:
    """Record functions that match a size with `case int()`, which asks no function of Python."""
    codes = {f.__code__ for f in reached_functions(model) if matches_numbers(f.__code__)}
    if not codes:
        yield
        return
    before = sys.getprofile()

    def profile(frame: FrameType, event: str, given: Any) -> None:
        if event == "return" and original(frame.f_code) in codes and _has_size(frame):
            found.functions.setdefault(frame.f_code, frame)
            found.kinds.setdefault((frame.f_code.co_filename, frame.f_code.co_firstlineno))
        if before is not None:
            before(frame, event, given)  # type: ignore[arg-type]

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)


def _has_size(frame: FrameType) -> bool:
    """Whether a function has read a size, or has a number of run time in a variable."""
    if _SIZES.intersection(frame.f_code.co_names):
        return True
    return any(type(value) in KINDS for value in frame.f_locals.values())


def _taker(frame: FrameType | None) -> FrameType | None:
    """The function of the model that takes a number out of a tensor."""
    while frame is not None and _is_of_a_library(frame.f_code.co_filename):
        if frame.f_code.co_filename == CAPTURE:
            return None  # callers of the export
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=4096)
def _asks_for_kind(code: CodeType, knows_kinds: bool) -> bool:
    """Whether a function has `x is True`, `type(x) is int`, `isinstance(x, float)` or the like.

    Args:
        code: of the function.
        knows_kinds: whether its `isinstance` and `type` give what they give of a number of Python.
    """
    if is_rewritten(code):
        return False
    names = set(code.co_names)
    if names & _CLASSES and not knows_kinds and ("type" in names or "isinstance" in names):
        return True
    last: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" and isinstance(last, bool):
            return True
        last = instruction.argval if instruction.opname == "LOAD_CONST" else None
    return matches_numbers(code)


def _is_of_a_library(file: str) -> bool:
    return owner_of(file) is Owner.PYTHON or is_machinery(file)
