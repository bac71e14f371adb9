"""Decisions that Python makes by a size while it is captured, and that leave no guard.

Torch takes dynamic sizes for 2 or more: `if n == 1` is decided by that alone, without a guard.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._guards import TracingContext
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.sym_node import SymNode

from onnxwright.diagnostics.file_owners import path_in_torch
from onnxwright.exporter.capture.assumptions.settled import is_settled
from onnxwright.exporter.capture.control import number_kinds
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.places import is_of_user

# What calls the comparison of two numbers that Python of the user compares.
_COMPARING = ("__init__.py", "fx/experimental/sym_node.py")
# The files of torch between a decision of Python and torch's answer.
_ANSWERING = (*_COMPARING, "fx/experimental/symbolic_shapes.py")
# The others, those of wrappers and of what converted code calls.
_BETWEEN = {__file__, number_kinds.__file__}
# What rewritten code of a capture by source calls.
_REWRITTEN = str(Path(__file__).parent.parent / "source") + os.sep
# The files of it that decide for the user, and its function that asks whether a loop goes on.
_DECIDING = ("/deciding.py", "/operators.py")
_TEST_OF_LOOP = "going"
# How functions of torch such as `torch._assert` are called while they are followed, and what stands
# for `min`, `max` and attention.
_FOLLOWED = (
    "__torch_function__", "handle_torch_function", "_tensor_min_max", "_followed_attention"
)  # fmt: skip
# What Python asks of the layout of a tensor, and may decide by.
_LAYOUTS = (torch.Tensor.is_contiguous, torch.Tensor.stride)
# What interprets the user's code in a strict capture.
_STRICT = "_dynamo/"
# Files of code that is made from a text: by `exec`; by torch, sympy and the import of Python.
_EXEC = "<string>"
_GENERATED = ("<eval_with_key>", "<lambdifygenerated", "<frozen ", "<torch_package")


@dataclass(frozen=True)
class Decision:
    """A condition that torch answered.

    Fields:
        expression: the condition that holds; a sympy expression of torch's symbols.
        file, line: the line of Python that asked; no file for a guard of a program that was
            captured before.
        demand: whether other sizes are refused there.
        answer: what Python was told; the condition is the negated one if that is False.
        by_operator: whether an operator of torch in C++ asked.
        asked: the line of torch's Python that asked, where it is not the user's.
    """

    expression: Any
    file: str
    line: int
    demand: bool = False
    answer: bool = True
    by_operator: bool = False
    asked: tuple[str, int] | None = None


class Recorded:
    """The decisions of one capture, each once.

    Args:
        found: they are added here.
    """

    def __init__(self, found: list[Decision]) -> None:
        self.found = found
        self.seen: dict[tuple[Any, str, int], None] = {}

    def add(self, decision: Decision) -> None:
        """Add one that is new."""
        key = decision.expression, decision.file, decision.line
        if key not in self.seen:
            self.seen[key] = None
            self.found.append(decision)

    def forget_since(self, count: int) -> None:
        """Remove the decisions of a part that is not in the program.

        Args:
            count: how many there were before.
        """
        for one in self.found[count:]:
            self.seen.pop((one.expression, one.file, one.line), None)
        del self.found[count:]


_now = threading.local()


def recorded_now() -> Recorded | None:
    """What this thread records; None outside of a capture."""
    return getattr(_now, "recorded", None)


def record_decisions(
    changes: Changes,
    found: list[Decision],
    ends: Callable[[Decision, Mapping[Any, Any]], None] | None = None,
) -> None:
    """Record the decisions that Python of the user makes.

    Sizes are positive for torch: `n == 0` is false before it is asked.  Such a comparison is
    recorded where it is made: the program is for sizes of 1 or more.

    Args:
        changes: undo it.
        found: they are added here.
        ends: is called for each, with the ranges of torch's symbols, and may end the capture.
    """
    guard = SymNode.guard_bool
    recorded = Recorded(found)

    def guard_bool(self: Any, file: str, line: int) -> bool:
        # An answer narrows the ranges.
        ranges = dict(self.shape_env.var_to_range) if ends is not None else {}
        answer: bool = guard(self, file, line)
        expression = self._expr
        if getattr(expression, "free_symbols", None):
            place, asked = deciding_line()
            expression = _below_sides(expression if answer else ~expression)
            if place is not None and expression is not None and not _is_settled(asked):
                demand = not place[0]
                inner = bool(file) and not (asked is None and _asks_layout())
                decision = Decision(expression, *place, demand, answer, inner, asked)
                recorded.add(decision)
                if ends is not None:
                    ends(decision, ranges)
        return answer

    def keeps(name: str) -> Callable[[Any, Any], Any]:
        compare = getattr(SymNode, name)

        def kept(self: Any, other: Any) -> Any:
            made = compare(self, other)
            if getattr(made._expr, "free_symbols", None):
                return made
            caller = sys._getframe(1)
            if path_in_torch(caller.f_code.co_filename) not in _COMPARING:
                return made  # an operator of torch asks
            if not any(getattr(n._expr, "free_symbols", None) for n in (self, other)):
                return made
            if current() is not None and _is_of_machinery(outside_of_torch(caller)):
                return made
            # Sizes that are known to be equal are one.
            for symbol in _other_if_empty(name, self.expr, other.expr, answer=bool(made._expr)):
                place = asking_line()
                if place is not None:
                    condition = sympy.Ge(symbol, 1, evaluate=False)
                    recorded.add(Decision(condition, *place, demand=not place[0]))
            return made

        return kept

    before, _now.recorded = recorded_now(), recorded
    changes.later(lambda: setattr(_now, "recorded", before))
    changes.later(sym_node_changed("guard_bool", guard_bool))
    for name in _COMPARISONS:
        changes.later(sym_node_changed(name, keeps(name)))


def _is_settled(asked: tuple[str, int] | None) -> bool:
    """Whether the rest of the `and` or `or` that asks has one result for both answers."""
    frame = _asking_frame(sys._getframe(2)) if asked is None else None
    return frame is not None and is_settled(frame)


def _asks_layout() -> bool:
    """Whether Python of the user asks for the layout of a tensor, and not an operator for its own.

    A mode of torch's functions is active in each capture: its frame knows what is called.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _is_between(frame):
        if frame.f_code.co_name == "__torch_function__":
            return frame.f_locals.get("func") in _LAYOUTS
        frame = frame.f_back
    return False


def _below_sides(condition: Any) -> Any:
    """A condition as one of all sizes, on a side of a decision by sizes; None for a certain one."""
    session = current()
    if session is None or session.sizes is None:
        return condition
    return session.sizes.below(condition)


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


@functools.lru_cache(maxsize=1 << 16)
def _other_if_empty(name: str, left: Any, right: Any, *, answer: bool) -> tuple[Any, ...]:
    """The symbols for which a comparison has another answer where they are 0, all others 2.

    PyTorch asks the same of the same sizes thousands of times.
    """
    symbols = left.free_symbols | right.free_symbols
    found = []
    for one in sorted(symbols, key=str):
        sizes = {s: sympy.Integer(0 if s == one else 2) for s in symbols}
        try:
            other = _COMPARISONS[name](int(left.xreplace(sizes)), int(right.xreplace(sizes)))
        except (TypeError, ValueError, ZeroDivisionError):  # not a whole number
            continue
        if bool(other) != answer:
            found.append(one)
    return tuple(found)


def sym_node_changed(name: str, wrapper: Callable[..., Any]) -> Callable[[], None]:
    """Give torch's symbolic numbers another method.

    Args:
        name: of the method.
        wrapper: the function in its place.

    Returns:
        What undoes it.
    """
    before = getattr(SymNode, name)
    known = passed_over(inspect.getfile(wrapper))
    setattr(SymNode, name, wrapper)

    def undo() -> None:
        setattr(SymNode, name, before)
        known()

    return undo


def passed_over(file: str) -> Callable[[], None]:
    """Let torch name the lines of guards by frames outside of a file, which calls what asks.

    Args:
        file: of this package.

    Returns:
        What undoes it.
    """
    # Torch takes the first frame that is of no file of its own.
    _BETWEEN.add(file)
    skipped = symbolic_shapes.uninteresting_files()
    known = file in skipped
    skipped.add(file)
    return lambda: None if known else skipped.discard(file)


def _is_between(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file in _BETWEEN or frame.f_code.co_name in _FOLLOWED:
        return True
    return path_in_torch(file) in _ANSWERING


def outside_of_torch(frame: FrameType | None) -> FrameType | None:
    """The function that uses torch's symbolic numbers: not what torch and wrappers call for it.

    Args:
        frame: where it is asked.
    """
    while frame is not None and _is_between(frame):
        frame = frame.f_back
    return frame


def _is_of_machinery(frame: FrameType | None) -> bool:
    """Whether a loop or a list of rewritten code asks, which works for no iterations, too.

    What the user decides by a size is asked by `decided` for `if_` and operators.
    """
    if frame is None:
        return False
    if frame.f_code.co_filename.startswith(_REWRITTEN):
        asks = frame.f_back if frame.f_code.co_name == "decided" else frame
        if asks is None or not asks.f_code.co_filename.endswith(_DECIDING):
            return True
    frame = frame.f_back
    while frame is not None and frame.f_code.co_filename.startswith(_REWRITTEN):
        if frame.f_code.co_name == _TEST_OF_LOOP:
            return True
        frame = frame.f_back
    return False


def asking_line(depth: int = 2) -> tuple[str, int] | None:
    """The line that asks, if it is the user's; None for decisions within torch.

    Guards of a program that was captured before are code that torch generated: they have no file.

    Args:
        depth: how many frames further out to begin.
    """
    frame = _asking_frame(sys._getframe(depth))
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    if file.startswith("<"):
        if symbolic_shapes.SYMPY_INTERP.keys() <= frame.f_globals.keys():
            return "", 0  # torch runs guards with the functions of sympy as globals
        return None if _is_generated(frame) else (file, line)
    if is_strict(file):
        # A strict capture interprets the user's code: that code has no frame of its own.
        stack = TracingContext.extract_stack()
        if not stack:
            return None
        file, line = stack[-1].filename, stack[-1].lineno or 1
    # Code of the user that `exec` made has this name, too.
    return (file, line) if file == _EXEC or is_of_user(file) else None


def _asking_frame(frame: FrameType | None) -> FrameType | None:
    """The function that asks: none of wrappers, of torch's numbers or of what rewritten code calls.

    Args:
        frame: where it is asked.
    """
    while frame is not None and (
        _is_between(frame) or frame.f_code.co_filename.startswith(_REWRITTEN)
    ):
        frame = frame.f_back
    return frame


def deciding_line() -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
    """The line that decides by a size, also where it calls Python of torch that does.

    What torch asks inside of an operator (`__torch_dispatch__`) is about the layout, the type and
    the shape of a result: the graph has the operator itself, whatever the answer.  A layer or a
    function of torch in Python decides as one of the user's does.

    Returns:
        The line of the user's, None for a question within an operator; and the line of torch that
        asked, None where the user's did.
    """
    direct = asking_line(3)
    if direct is not None:
        return direct, None
    frame = outside_of_torch(sys._getframe(2))
    if frame is None or path_in_torch(frame.f_code.co_filename) is None:
        return None, None
    asked = frame.f_code.co_filename, frame.f_lineno
    while frame is not None and frame.f_code.co_name != "__torch_dispatch__":
        file = frame.f_code.co_filename
        if is_strict(file):
            return None, None
        if is_of_user(file):
            return (file, frame.f_lineno), asked
        frame = frame.f_back
    return None, None


def is_strict(file: str) -> bool:
    """Whether a file of torch interprets the user's code, in a strict capture.

    Args:
        file: the `co_filename` of a code object.
    """
    return (path_in_torch(file) or "").startswith(_STRICT)


def _is_generated(frame: FrameType) -> bool:
    """Whether code without a file is of torch, of sympy or of Python, not of a text of the user."""
    if frame.f_code.co_filename.startswith(_GENERATED):
        return True
    caller = frame.f_back
    if caller is not None and is_strict(caller.f_code.co_filename):
        return True  # the guards of a compiled function
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("torch", "sympy")
