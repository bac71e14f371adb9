"""The functions of Python that run in a capture, with their decisions rewritten."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import path_in_torch
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.control.calls import calls_converted
from onnxwright.exporter.capture.control.convert import original
from onnxwright.exporter.capture.control.store import Store, current
from onnxwright.exporter.capture.source.chosen_objects import refuse_write
from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.machinery import is_machinery
from onnxwright.exporter.capture.source.rewriting import (
    decisions_around,
    has_line,
    names_read,
    rewritten,
)
from onnxwright.exporter.capture.values.results import asks
from onnxwright.exporter.places import line_of


def _is_causal(mask: Any, is_causal: Any = None, size: Any = None) -> bool:
    """The answer for a mask that is not looked at: attention masks by it all the same."""
    return is_causal is True


EQUAL: dict[tuple[str, str], Any] = {
    (torch.nn.modules.transformer.__file__, "_detect_is_causal_mask"): _is_causal,
}
"""Functions that choose between equal results by values -> what answers without a look."""


# It hands the arguments of a module on to its `forward`.
_CALLS_FORWARD = "nn/modules/module.py"
# What follows decisions in one function has at most this many copies.
MOST_COPIES = 32
# A line has a copy for each of at most this many values of a variable.
_MOST_VALUES = 8


@dataclass
class Rewritten:
    """Functions whose decisions are asked at run time, each rewritten when it is called first.

    Fields:
        split: files and lines of decisions whose sides go on to the end of their block.
        decided: files, lines and variables that these lines need the values of -> all values.
        codes: the identity of a code -> it, and the code that runs; None for code that stays.
        modules: the globals of the functions.
        reasons: why functions are not rewritten, by the identity of their code.
    """

    split: set[tuple[str, int]] = field(default_factory=set)
    decided: dict[tuple[str, int, str], tuple[int, ...]] = field(default_factory=dict)
    codes: dict[int, tuple[CodeType, CodeType | None]] = field(default_factory=dict)
    modules: dict[int, tuple[CodeType, dict[str, Any]]] = field(default_factory=dict)
    reasons: dict[int, CannotRewriteError] = field(default_factory=dict)

    def code_for(self, function: FunctionType) -> CodeType | None:
        """The code of a function with its decisions rewritten; None for one that stays as it is."""
        code = function.__code__
        known = self.codes.get(id(code))
        if known is not None:
            return known[1]
        equal = EQUAL.get((code.co_filename, code.co_name))
        if equal is not None:
            self.codes[id(code)] = code, equal.__code__
        elif not _may_decide(code):
            self.codes[id(code)] = code, None
        else:
            try:
                self._rewrite(code, function.__globals__)
            except CannotRewriteError as reason:
                self.codes[id(code)], self.reasons[id(code)] = (code, None), reason
        return self.codes[id(code)][1]

    def reason_for(self, code: CodeType) -> CannotRewriteError | None:
        """Why a function is not rewritten; None where it is, or has not been called."""
        return self.reasons.get(id(original(code)))

    def check_plain(self, *, has_choices: bool) -> None:
        """Refuse a function that asks which of several objects it has, and is not rewritten.

        Args:
            has_choices: whether a variable has one of several constants, functions or modules.

        Raises:
            CannotRewriteError: there is one.
        """
        for key, reason in self.reasons.items() if has_choices else ():
            code = self.codes[key][0]
            if asks(code):
                reason.span = reason.span or line_of(code.co_filename, code.co_firstlineno)
                raise reason

    def names_of(self, places: Collection[tuple[str, int]]) -> list[str]:
        """The functions that have some lines, in the order of their first calls.

        Args:
            places: files and lines.
        """
        return [
            f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"
            for code, module in self.modules.values()
            if any(file == code.co_filename and _has_line(code, line) for file, line in places)
        ]

    def _rewrite(self, code: CodeType, module: dict[str, Any]) -> None:
        lines = {line for file, line in self.split if file == code.co_filename}
        decided = [
            (line, name, values)
            for (file, line, name), values in self.decided.items()
            if file == code.co_filename
        ]
        new = rewritten(code, module, frozenset(lines), decided)
        self.codes[id(code)], self.modules[id(code)] = (code, new), (code, module)

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

    def names_read(self, file: str, line: int) -> set[str]:
        """The variables that the statement of a line of a rewritten function reads."""
        around = self._around(file, line)
        return names_read(*around[-1], line) if around else set()

    def _around(self, file: str, line: int) -> list[tuple[CodeType, dict[str, Any]]]:
        """The rewritten functions that a line is of, with their globals."""
        of_file = [(c, m) for c, m in self.modules.values() if c.co_filename == file]
        return [(c, m) for c, m in of_file if has_line(c, line, m)]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let functions that are called inside the block run with their decisions rewritten."""
        with contextlib.ExitStack() as stack:
            store = current()
            if store is None:
                store = stack.enter_context(calls_converted(Store(writes_buffers=True)))
            before = store.code_for, store.on_write
            store.code_for, store.on_write = self.code_for, refuse_write
            try:
                yield
            finally:
                store.code_for, store.on_write = before


def last_line(code: CodeType) -> int:
    """The last line of a function, with those defined in it."""
    inner = [last_line(c) for c in code.co_consts if isinstance(c, CodeType)]
    return max([line for *_, line in code.co_lines() if line is not None] + inner)


def _has_line(code: CodeType, line: int) -> bool:
    return code.co_firstlineno <= line <= last_line(code)


def _may_decide(code: CodeType) -> bool:
    """Whether code is of the model's Python, not of what calls its modules or traces it."""
    return not is_machinery(code.co_filename) and path_in_torch(code.co_filename) != _CALLS_FORWARD
