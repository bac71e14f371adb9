"""Loops of Python over dynamic sizes: `for t in range(x.shape[1])`, `for row in x`.

A capture runs Python, and Python's loops want a number: the size becomes a constant, and the loop
is unrolled.  A capture by source has a loop in the program instead.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from torch.fx.experimental.sym_node import SymNode

from onnxwright.errors import ExportError
from onnxwright.exporter.capture import strategies
from onnxwright.exporter.capture.assumptions.asking import sym_node_changed
from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.model_lines import calling_frame, model_frame
from onnxwright.exporter.capture.replacements.changes import Changes

# Calls that make Python's iterables of a tensor or of numbers.
_ITERABLES = (
    "range", "enumerate", "zip", "reversed", "list", "tuple", "unbind", "split", "chunk",
    "tensor_split", "tolist", "sum", "max", "min", "sorted",
)  # fmt: skip
# How the reason begins where parts of dicts or tuples have different sizes.
_UNEVEN = "`an item of the list` is of one size"


@dataclass
class Loops:
    """The loops that made numbers of dynamic sizes in one capture.

    Fields:
        lines: their lines, with the reason why a loop cannot be kept; "" for none known.
    """

    lines: dict[tuple[str, int], str] = field(default_factory=dict)

    def record(self, number: SymNode, *, tests: bool = False) -> None:
        """Record the loop of the model's Python that asks for a symbolic number.

        Args:
            number: what it asks for.
            tests: whether it is about the test of a `while`, not about what a `for` goes over.
        """
        if not getattr(number.expr, "free_symbols", None):
            return
        frame = _asking_frame()
        if frame is None:
            return
        place = frame.f_code.co_filename, frame.f_lineno
        if _is_of_loop(*place, tests=tests):
            self.lines.setdefault(place, "")

    def assumed(self, decisions: Sequence[Decision]) -> int:
        """How many decisions by sizes the tests of these loops are."""
        return sum((decision.file, decision.line) in self.lines for decision in decisions)

    def add(self, other: Loops) -> None:
        """Add the lines of another capture."""
        self.lines = {**other.lines, **self.lines}

    def explain(self, reasons: Mapping[tuple[str, int], str]) -> None:
        """Add the reasons why lines that are known cannot be kept as loops."""
        self.lines |= {k: v for k, v in reasons.items() if k in self.lines}

    def refused(self, error: Exception) -> None:
        """Add what refused the loops as loops, for lines that have no reason yet."""
        if isinstance(error, ExportError):
            reason = str(error).partition("\n")[0]
            self.lines = {place: known or reason for place, known in self.lines.items()}

    def notes(self) -> tuple[str, ...]:
        """A line of text for each loop."""
        return tuple(
            f"a loop is unrolled: `{linecache.getline(*place).strip()}` "
            f"({Path(place[0]).name}:{place[1]})" + (f": {_with_advice(reason)}" if reason else "")
            for place, reason in self.lines.items()
        )


def _with_advice(reason: str) -> str:
    """Why a loop cannot be kept, and what to write where there is something."""
    if _UNEVEN not in reason:
        return reason
    return (
        f"{reason}; return a list for each part (`boxes = [b[s > 0.5] for b, s in ...]`) in place "
        "of a list of dicts or tuples"
    )


def record_loops(changes: Changes, found: Loops) -> None:
    """Record the functions whose loops make a number of a dynamic size.

    Args:
        changes: undo it.
        found: they are added here.
    """
    as_int, as_bool = SymNode.guard_int, SymNode.guard_bool

    def guard_int(self: Any, file: str, line: int) -> Any:
        found.record(self)
        return as_int(self, file, line)

    def guard_bool(self: Any, file: str, line: int) -> Any:
        found.record(self, tests=True)
        return as_bool(self, file, line)

    changes.later(sym_node_changed("guard_int", guard_int))
    changes.later(sym_node_changed("guard_bool", guard_bool))


def _asking_frame() -> FrameType | None:
    """The innermost frame of the model's Python; None outside of a call of the model."""
    frame = model_frame(calling_frame())
    around = frame
    while around is not None and around.f_code.co_filename != strategies.__file__:
        around = around.f_back
    return frame if around is not None else None


def _is_of_loop(file: str, line: int, *, tests: bool) -> bool:
    """Whether a line makes what a loop goes over, or is in the test of a `while`."""
    lines = linecache.getlines(file)
    known = _FILES.get(file)
    if known is None or known[0] is not lines:  # linecache keeps one list until it is read again
        if len(_FILES) >= _MOST_FILES:
            _FILES.clear()
        known = _FILES[file] = lines, _parsed(lines), {}
    _, tree, found = known
    if line not in found:
        items, while_tests = _loops_at(tree, line)
        found[line] = tuple(any(a <= line <= b for a, b in of) for of in (items, while_tests))
    return found[line][tests]


_Places = list[tuple[int, int]]
_MOST_FILES = 64
# File -> its lines, their tree, and what is known of a line: whether it makes what a loop goes
# over, and whether it is in the test of a `while`.
_FILES: dict[str, tuple[list[str], ast.Module, dict[int, tuple[bool, ...]]]] = {}


def _parsed(lines: list[str]) -> ast.Module:
    try:
        return ast.parse("".join(lines))
    except SyntaxError:  # a cell of a notebook with commands in it
        return ast.Module([], [])


def _loops_at(tree: ast.Module, line: int) -> tuple[_Places, _Places]:
    """The first and last lines of iterables and of tests of `while` in the nodes around a line."""
    items: _Places = []
    tests: _Places = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.For, ast.comprehension)):
            items.append(_lines(node.iter))
        elif isinstance(node, ast.While):
            tests.append(_lines(node.test))
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            if name in _ITERABLES:
                items.append(_lines(node))
        waiting += [inner for inner in ast.iter_child_nodes(node) if _may_have(inner, line)]
    return items, tests


def _may_have(node: ast.AST, line: int) -> bool:
    """Whether a node has a line, as far as it has a place."""
    if not isinstance(node, (ast.expr, ast.stmt)):
        return True
    decorators = getattr(node, "decorator_list", ())  # they stand before the definition
    first = decorators[0].lineno if decorators else node.lineno
    return first <= line <= (node.end_lineno or line)


def _lines(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno
