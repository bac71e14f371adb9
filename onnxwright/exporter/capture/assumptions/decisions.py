"""Decisions that Python makes by a size while it is captured, and that leave no guard.

Torch takes dynamic sizes for 2 or more: `if n == 1` is decided by that alone, without a guard.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.fx.experimental.sym_node import SymNode

from onnxwright.exporter.capture.assumptions.asking import (
    asking_line,
    asks_layout,
    asks_settled,
    deciding_line,
    extreme_line,
    is_comparing,
    is_of_iteration,
    sym_node_changed,
)
from onnxwright.exporter.capture.assumptions.examples import at_size
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.model_lines import calling_frame
from onnxwright.exporter.capture.session.session import current


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
        one_sided: whether a number follows from it, which the program has for one answer only.
    """

    expression: Any
    file: str
    line: int
    demand: bool = False
    answer: bool = True
    by_operator: bool = False
    asked: tuple[str, int] | None = None
    one_sided: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        """What is recorded once."""
        return self.expression, self.file, self.line, self.one_sided


class Recorded:
    """The decisions of one capture, each once.

    Args:
        decisions: they are added here.
    """

    def __init__(self, decisions: list[Decision]) -> None:
        self.decisions = decisions
        self.seen: dict[tuple[Any, ...], None] = {}

    def add(self, decision: Decision) -> None:
        """Add one that is new."""
        if decision.key not in self.seen:
            self.seen[decision.key] = None
            self.decisions.append(decision)

    def remove(self, decision: Decision) -> None:
        """Remove one of which the program has both sides."""
        if decision in self.decisions:
            self.decisions.remove(decision)
            self.seen.pop(decision.key, None)

    def forget_since(self, count: int) -> None:
        """Remove the decisions of a part that is not in the program.

        Args:
            count: how many there were before.
        """
        for one in self.decisions[count:]:
            self.seen.pop(one.key, None)
        del self.decisions[count:]


_now = threading.local()


def recorded_now() -> Recorded | None:
    """What this thread records; None outside of a capture."""
    return getattr(_now, "recorded", None)


def record_decisions(
    changes: Changes,
    decisions: list[Decision],
) -> None:
    """Record the decisions that Python of the user makes.

    Sizes are positive for torch: `n == 0` is false before it is asked.  Such a comparison is
    recorded where it is made: the program is for sizes of 1 or more.

    Args:
        changes: undo it.
        decisions: they are added here.
    """
    guard = SymNode.guard_bool
    recorded = Recorded(decisions)

    def guard_bool(self: Any, file: str, line: int) -> bool:
        caller = calling_frame()
        expression = self._expr
        symbols = getattr(expression, "free_symbols", ())
        answer: bool = guard(self, file, line)
        empty = if_empty(self)
        if empty is not None and not is_of_iteration(caller):
            recorded.add(empty)
        if symbols:
            place, asked = deciding_line(caller, by_operator=bool(file))
            expression = _below_sides(expression if answer else ~expression)
            if place is None or expression is None:
                return answer
            if asked is not None or not asks_settled(caller):
                inner = bool(file) and not (asked is None and asks_layout(caller))
                recorded.add(Decision(expression, *place, not place[0], answer, inner, asked))
        return answer

    before, _now.recorded = recorded_now(), recorded
    changes.later(lambda: setattr(_now, "recorded", before))
    changes.later(sym_node_changed("guard_bool", guard_bool))
    changes.later(sym_node_changed("sym_not", _negated(SymNode.sym_not)))
    for name in _COMPARISONS:
        changes.later(sym_node_changed(name, _comparing(name, recorded)))
    for name in _EXTREMES:
        changes.later(sym_node_changed(name, _settling(name, recorded)))


def _comparing(name: str, recorded: Recorded) -> Callable[[Any, Any], Any]:
    """A comparison of symbolic numbers that notes where empty inputs have another answer."""
    compare = getattr(SymNode, name)

    def kept(self: Any, other: Any) -> Any:
        comparison = compare(self, other)
        if comparison._expr not in _CONSTANTS:
            return comparison
        caller = calling_frame()
        if not is_comparing(caller):
            return comparison  # an operator of torch asks
        if not any(getattr(n._expr, "free_symbols", None) for n in (self, other)):
            return comparison
        # Sizes that are known to be equal are one.
        symbols = _other_if_empty(
            _COMPARISONS[name], sympy.sympify(comparison._expr), self.expr, other.expr
        )
        if len(symbols) == 1 and _is_empty(symbols[0], self.expr, other.expr):
            return comparison.sym_not()
        is_asked = current() is None or not is_of_iteration(caller)
        not_empty = _note_not_empty(symbols, recorded if is_asked else None, asking_line(caller))
        if len(not_empty) == len(symbols) == 1:
            setattr(comparison, _IF_EMPTY, not_empty[0])
        return comparison

    return kept


def _settling(name: str, recorded: Recorded) -> Callable[..., Any]:
    """The lesser, the larger or the absolute value, of which torch knows which one it is.

    It takes sizes for 1 or more: `max(n, 1)` is `n`.
    """
    own = getattr(SymNode, name)

    def settled(self: Any, *others: Any) -> Any:
        extreme = own(self, *others)
        caller = calling_frame()
        if is_comparing(caller):
            operands = (self.expr, *(other.expr for other in others))
            symbols = _other_if_empty(_EXTREMES[name], extreme.expr, *operands)
            if symbols:
                _note_not_empty(symbols, recorded, extreme_line(caller), one_sided=True)
        return extreme

    return settled


def _note_not_empty(
    symbols: tuple[Any, ...],
    recorded: Recorded | None,
    place: tuple[str, int] | None,
    *,
    one_sided: bool = False,
) -> list[Decision]:
    """Record that sizes are not 0, at the user's line that asks; nothing where torch does."""
    if place is None:
        return []
    not_empty = []
    for symbol in _not_known(symbols):
        condition = sympy.Ge(symbol, 1, evaluate=False)
        not_empty.append(Decision(condition, *place, demand=not place[0], one_sided=one_sided))
        if recorded is not None:
            recorded.add(not_empty[-1])
    return not_empty


_IF_EMPTY = "_ow_if_empty"


def if_empty(node: Any) -> Decision | None:
    """The decision that a size is not 0, by which a constant condition would be another one.

    Args:
        node: of a symbolic truth value.
    """
    return getattr(node, _IF_EMPTY, None)


def _negated(negate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`not` of a condition, which is another one for empty inputs where the condition is."""

    def sym_not(self: Any) -> Any:
        negated = negate(self)
        if hasattr(self, _IF_EMPTY):
            setattr(negated, _IF_EMPTY, getattr(self, _IF_EMPTY))
        return negated

    return sym_not


def _not_known(symbols: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sizes of which it is not decided yet whether they are 0."""
    session = current()
    if session is None or session.sizes is None:
        return symbols
    return tuple(s for s in symbols if not session.sizes.is_filled(s))


def _is_empty(symbol: Any, *operands: Any) -> bool:
    """Whether a size is 0 on the sides that run now, and others are not compared with it."""
    session = current()
    if session is None or session.sizes is None or symbol not in session.sizes.empty:
        return False
    return all(operand.free_symbols <= {symbol} for operand in operands)


def _below_sides(condition: Any) -> Any:
    """A condition as one of all sizes, on a side of a decision by sizes; None for a certain one."""
    session = current()
    if session is None or session.sizes is None:
        return condition
    return session.sizes.below(condition)


# What a comparison that the sizes do not change gives.
_CONSTANTS = frozenset((True, False, sympy.true, sympy.false))
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


# What torch settles by the least size that it takes.
_EXTREMES: dict[str, Callable[..., Any]] = {"sym_max": max, "sym_min": min, "abs": abs}


@functools.lru_cache(maxsize=1 << 16)
def _other_if_empty(function: Callable[..., Any], result: Any, *operands: Any) -> tuple[Any, ...]:
    """The symbols for which a function has another result where they are 0, all others 2.

    PyTorch asks the same of the same sizes thousands of times.
    """
    differing = []
    symbols = {s for operand in operands for s in operand.free_symbols}
    for one in sorted(symbols, key=str):
        values = [at_size(operand, one) for operand in operands]
        if None not in values and function(*values) != at_size(result, one):
            differing.append(one)
    return tuple(differing)
