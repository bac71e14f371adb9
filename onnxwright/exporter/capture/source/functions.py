"""The functions of Python that read values in a capture, and other code in their place."""

from __future__ import annotations

import dis
import functools
import gc
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.control.convert import is_converted, original
from onnxwright.exporter.capture.control.store import current
from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.inserting import Inserted
from onnxwright.exporter.capture.source.rewriting import (
    decisions_around,
    has_line,
    names_read,
    rewritten,
)


def _is_causal(mask: Any, is_causal: Any = None, size: Any = None) -> bool:
    """The answer for a mask that is not looked at: attention masks by it all the same."""
    return is_causal is True


EQUAL: dict[tuple[str, str], Any] = {
    (torch.nn.modules.transformer.__file__, "_detect_is_causal_mask"): _is_causal,
}
"""Functions that choose between equal results by values -> what answers without a look."""


# What follows decisions in one function has at most this many copies.
MOST_COPIES = 32
# A line has a copy for each of at most this many values of a variable.
_MOST_VALUES = 8


@dataclass(frozen=True)
class Site:
    """A function that ran, by what its frame had; the frame's values are not kept.

    Fields:
        f_code, f_globals: as of the frame.
        f_locals: the type of the first argument.
    """

    f_code: CodeType
    f_globals: dict[str, Any]
    f_locals: dict[str, Any]

    def holds(self, place: tuple[str, int]) -> bool:
        """Whether the function stands around a line."""
        lines = [line for _, _, line in self.f_code.co_lines() if line is not None]
        return place[0] == self.f_code.co_filename and place[1] in lines

    @classmethod
    def of(cls, frame: FrameType) -> Site:
        """The function of a frame."""
        first = frame.f_code.co_varnames[:1] if frame.f_code.co_argcount else ()
        known = {n: frame.f_locals[n] for n in first if n in frame.f_locals}
        types = {n: v if isinstance(v, type) else type(v) for n, v in known.items()}
        return cls(original(frame.f_code), frame.f_globals, types)


@dataclass
class Rewritten:
    """Functions with other code.

    Fields:
        codes: the code before -> the code now.
        names: what was rewritten, in order, for the report.
        places: the files, names and lines of these.
        functions: the functions that have a code, where their name finds them.
        modules: the globals of the functions.
        inserted: statements that are to run before lines of these.
        split: files and lines of decisions whose sides go on to the end of their block.
        split_for: the lines of decisions -> what was split for their sake.
        decided: files, lines and variables that these lines need the values of -> all values.
        asks_constants: whether it is asked at run time which variables are None; None where that
            was tried in vain.
        plain: codes without decisions, or that cannot be rewritten.
        asks_kinds: whether tests such as `isinstance(x, Linear)` may be known at run time only.
    """

    codes: dict[CodeType, CodeType] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    places: set[tuple[str, str, int]] = field(default_factory=set)
    functions: dict[CodeType, list[FunctionType]] = field(default_factory=dict)
    modules: dict[CodeType, dict[str, Any]] = field(default_factory=dict)
    inserted: Inserted = field(default_factory=dict)
    split: set[tuple[str, int]] = field(default_factory=set)
    split_for: dict[Span, list[tuple[str, int]]] = field(default_factory=dict)
    decided: dict[tuple[str, int, str], tuple[int, ...]] = field(default_factory=dict)
    asks_constants: bool | None = False
    asks_kinds: bool = False
    plain: set[CodeType] = field(default_factory=set)

    def add(self, frame: FrameType | Site) -> bool:
        """Rewrite the function of a frame, and those it is defined in.

        Args:
            frame: one that reads a value, or has a loop over a size.

        Returns:
            Whether there is anything new.

        Raises:
            CannotRewriteError: the function cannot be rewritten.
        """
        code = original(frame.f_code)
        if code.co_name.startswith("_ow_"):
            return False
        if _place(code) in self.places:
            # The function that ran was not the one of that name: search them all.
            return self.functions.pop(code, None) is not None
        self.places.add(_place(code))
        equal = EQUAL.get((code.co_filename, code.co_name))
        if equal:
            self.codes[code] = equal.__code__
        else:
            self._rewrite(code, frame.f_globals)
        named = _named(frame)
        if named is not None:
            self.functions[code] = [named]
        self.names.append(f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})")
        for function in _makers(code) if code.co_flags & inspect.CO_NESTED else ():
            maker = function.__code__
            if maker not in self.codes:
                self._rewrite(maker, function.__globals__)
        return True

    def code_for(self, function: FunctionType) -> CodeType | None:
        """The code of a function that has decisions, with these rewritten; None for others."""
        code = function.__code__
        known = self.codes.get(code)
        if known is not None or code in self.plain:
            return known
        if owner_of(code.co_filename) is Owner.TORCH or not has_decisions(code):
            self.plain.add(code)
            return None
        try:
            self._rewrite(code, function.__globals__)
        except CannotRewriteError:
            self.plain.add(code)
            return None
        self.places.add(_place(code))
        self.names.append(f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})")
        return self.codes[code]

    def _rewrite(self, code: CodeType, module: dict[str, Any]) -> None:
        lines = {line for file, line in self.split if file == code.co_filename}
        decided = [
            (line, name, values)
            for (file, line, name), values in self.decided.items()
            if file == code.co_filename
        ]
        self.codes[code] = rewritten(
            code,
            module,
            self.inserted,
            frozenset(lines),
            decided,
            bool(self.asks_constants) or self.asks_kinds,
        )
        self.modules[code] = module

    def split_at(self, span: Span) -> bool:
        """Let both sides of a decision go on by themselves to the end of their block.

        Args:
            span: the line of the decision; where its sides do so already, those of the decision
                around it.

        Returns:
            Whether that is something new; not if there would be too many copies.
        """
        around = self._around(span.file, span.line)
        if around and 2 * self.copies(span) > MOST_COPIES:
            return False
        for line in decisions_around(*around[-1], span.line) if around else ():
            if (span.file, line) not in self.split:
                self.split.add((span.file, line))
                self.split_for.setdefault(span, []).append((span.file, line))
                for code, module in around:
                    self._rewrite(code, module)
                return True
        return False

    def copies(self, span: Span) -> int:
        """How many copies of what follows a line there are at most, in the function around it.

        Args:
            span: the line.
        """
        around = self._around(span.file, span.line)
        if not around:
            return 1
        code, module = around[-1]
        count = 1
        for file, line in self.split:
            if file == code.co_filename and has_line(code, line, module):
                count *= 2
        for (file, line, _), values in self.decided.items():
            if file == code.co_filename and has_line(code, line, module):
                count *= len(values)
        return count

    def join_at(self, span: Span) -> None:
        """Undo what `split_at` did for a decision.

        Args:
            span: the line of the decision.
        """
        self.split.difference_update(self.split_for.pop(span, []))
        for code, module in self._around(span.file, span.line):
            self._rewrite(code, module)

    def decide_at(self, file: str, line: int, choices: Mapping[str, frozenset[int]]) -> bool:
        """Let a line, and what follows it, be one for each value of a variable that it reads.

        Args:
            file, line: the line.
            choices: variables, and the integers that each may be.

        Returns:
            Whether that is something new.
        """
        for name, values in choices.items():
            key = (file, line, name)
            few = 1 < len(values) <= _MOST_VALUES
            few = few and len(values) * self.copies(Span(file, line, 0, line, 0)) <= MOST_COPIES
            if key not in self.decided and few:
                self.decided[key] = tuple(sorted(values))
                for code, module in self._around(file, line):
                    self._rewrite(code, module)
                return True
        return False

    def ask_constants(self, asks: bool | None) -> None:
        """Ask at run time which variables are None, or which of several texts; or no more."""
        self.asks_constants = asks
        self._rewrite_all()

    def ask_kinds(self) -> bool:
        """Ask at run time of which kind objects are; whether that is new."""
        if self.asks_kinds or self.asks_constants:
            return False
        self.asks_kinds = True
        self._rewrite_all()
        return True

    def _rewrite_all(self) -> None:
        for code, module in list(self.modules.items()):
            self._rewrite(code, module)

    def names_read(self, file: str, line: int) -> set[str]:
        """The variables that the statement of a line of a rewritten function reads."""
        around = self._around(file, line)
        return names_read(*around[-1], line) if around else set()

    def has_line(self, file: str, line: int) -> bool:
        """Whether a line is of a function that is rewritten."""
        return bool(self._around(file, line))

    def _around(self, file: str, line: int) -> list[tuple[CodeType, dict[str, Any]]]:
        """The rewritten functions that a line is of, with their globals."""
        of_file = [(c, m) for c, m in self.modules.items() if c.co_filename == file]
        return [(c, m) for c, m in of_file if has_line(c, line, m)]

    def with_inserted(self, inserted: Inserted, frames: Sequence[FrameType]) -> Rewritten:
        """The same functions with statements inserted.

        Args:
            inserted: the statements.
            frames: those that the lines of the statements ran in, and the frames around them.

        Returns:
            Other code for the same functions, and for those that the lines are in.

        Raises:
            CannotRewriteError: a function cannot be rewritten.
        """
        made = Rewritten(names=list(self.names), places=set(self.places), inserted=inserted)
        made.functions, made.split = dict(self.functions), set(self.split)
        made.asks_constants, made.asks_kinds = self.asks_constants, self.asks_kinds
        made.decided = dict(self.decided)
        for code, now in self.codes.items():
            if code in self.modules:
                made._rewrite(code, self.modules[code])
            else:
                made.codes[code] = now
        before = {now: code for code, now in self.codes.items()}
        for file, line in inserted:
            known = [c for c in made.modules if c.co_filename == file]
            if any(has_line(c, line, made.modules[c]) for c in known):
                continue
            for frame in reversed(frames):
                code = original(frame.f_code)
                if code.co_filename == file and code not in before:
                    if has_line(code, line, frame.f_globals) and made.add(frame):
                        break
        return made

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give functions their new code inside the block; others that decide, when called."""
        store = current()
        before_call = None if store is None else store.code_for
        if store is not None:
            store.code_for = self.code_for
        changed: list[tuple[FunctionType, CodeType]] = []
        try:
            searched = [code for code in self.codes if code not in self.functions]
            found = [f for functions in self.functions.values() for f in functions]
            for function in found + functions_of(*searched):
                changed.append((function, function.__code__))
                function.__code__ = self.codes[function.__code__]
            yield
        finally:
            for function, before in changed:
                function.__code__ = before
            if store is not None:
                store.code_for = before_call


def _named(frame: FrameType | Site) -> FunctionType | None:
    """The function of a frame, if it is a global or a method of its first argument's class."""
    code = original(frame.f_code)
    if code.co_flags & inspect.CO_NESTED:
        return None
    found: list[Any] = [frame.f_globals.get(code.co_name)]
    if code.co_argcount:
        first = frame.f_locals.get(code.co_varnames[0])
        bases = first.__mro__ if isinstance(first, type) else type(first).__mro__
        found += [vars(base).get(code.co_name) for base in bases]
    for value in found:
        while value is not None:
            if isinstance(value, FunctionType) and value.__code__ is code:
                return value
            inner = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
            value = inner or getattr(value, "fget", None)
    return None


def functions_of(*codes: CodeType) -> list[FunctionType]:
    """The function objects that have one of some codes.

    Args:
        codes: the codes.

    Returns:
        Them, wherever they are kept.

    Example:
        >>> def f(): ...
        >>> functions_of(f.__code__) == [f]
        True
    """
    if not codes:
        return []
    with _all_objects():
        found = gc.get_referrers(*codes)
    wanted = {id(code) for code in codes}
    return [f for f in found if isinstance(f, FunctionType) and id(f.__code__) in wanted]


@contextmanager
def _all_objects() -> Iterator[None]:
    """While it lasts, the collector shows objects that `gc.freeze` hides, too."""
    frozen = gc.get_freeze_count()
    if frozen:
        gc.unfreeze()
    try:
        yield
    finally:
        if frozen:
            gc.freeze()


def last_line(code: CodeType) -> int:
    """The last line of a function, with those defined in it."""
    inner = [last_line(c) for c in code.co_consts if isinstance(c, CodeType)]
    return max([line for *_, line in code.co_lines() if line is not None] + inner)


@functools.lru_cache(maxsize=16384)
def has_decisions(code: CodeType) -> bool:
    """Whether code goes one of two ways by a test: `if`, `while`, `assert`, a ternary, `and`."""
    return any("JUMP_IF" in i.opname or "POP_JUMP" in i.opname for i in dis.get_instructions(code))


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_name, code.co_firstlineno


def _makers(code: CodeType) -> list[FunctionType]:
    """The outermost functions in which a function is defined: they make it anew at each call."""

    def makes(other: CodeType) -> bool:
        inner = [c for c in other.co_consts if isinstance(c, CodeType)]
        return code in inner or any(makes(c) for c in inner)

    with _all_objects():
        every = gc.get_objects()
    return [
        f
        for f in every
        if type(f) is FunctionType and f.__code__.co_filename == code.co_filename
        and not is_converted(f.__code__)
        and f.__code__.co_flags & inspect.CO_NEWLOCALS  # some hold the code of a module
        and makes(f.__code__)
    ]  # fmt: skip
