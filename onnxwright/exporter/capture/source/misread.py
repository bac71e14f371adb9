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
from onnxwright.exporter.capture.assumptions.decisions import outside_of_torch, sym_node_wrapped
from onnxwright.exporter.capture.source.conversions import Conversions
from onnxwright.exporter.capture.source.expressions import is_rewritten
from onnxwright.exporter.capture.source.functions import MACHINERY
from onnxwright.exporter.capture.source.text_uses import is_used
from onnxwright.exporter.places import CAPTURE, STDLIB, is_of_user, line_of

_NEW_NUMBERS = ("create_unbacked_symint", "create_unbacked_symfloat", "create_unbacked_symbool")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_CLASSES = {"int", "float", "bool"}
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
def misread_recorded() -> Iterator[Misread]:
    """While it lasts, functions that misread a number of run time are recorded.

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
    return "site-packages" not in file and bool(number.node.expr.free_symbols)


@contextmanager
def _kinds(found: Misread) -> Iterator[None]:
    """Record functions that take or compare a number, and ask what kind of object one is."""
    before = {name: getattr(ShapeEnv, name) for name in _NEW_NUMBERS}

    def record(frame: FrameType | None) -> None:
        if frame is not None and _asks_for_kind(frame.f_code):
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


def _taker(frame: FrameType | None) -> FrameType | None:
    """The function of the model that takes a number out of a tensor."""
    while frame is not None and _is_of_a_library(frame.f_code.co_filename):
        if frame.f_code.co_filename == CAPTURE:
            return None  # callers of the export
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=4096)
def _asks_for_kind(code: CodeType) -> bool:
    """Whether a function has `x is True`, `type(x) is int`, `isinstance(x, float)` or the like."""
    if is_rewritten(code):
        return False
    names = set(code.co_names)
    if names & _CLASSES and ("type" in names or "isinstance" in names):
        return True
    last: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" and isinstance(last, bool):
            return True
        if instruction.opname == "MATCH_CLASS" and names & _CLASSES:
            return True
        last = instruction.argval if instruction.opname == "LOAD_CONST" else None
    return False


def _is_of_a_library(file: str) -> bool:
    own = file.startswith(STDLIB) and "site-packages" not in file
    return own or file.startswith(MACHINERY)
