"""What follows from decisions that were made: on the side where `a and b` holds, `a` holds.

The side after `if ok is True` and `elif ok is False`, or after the last of `case (True, _)` and
`case (False, _)`, never runs; without this it would have to give a result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import sympy  # type: ignore[import-untyped]

# Conditions of more truth values than these are not looked at.
_MOST = 6

Formula = tuple[str, tuple[Any, ...]]


class _Fact(NamedTuple):
    """What is supposed of a truth value, and what it is made of in the end."""

    value: Any
    answer: bool
    symbols: set[int]


class Truths:
    """Truth values of Python that are known at run time only, and what is supposed of them.

    Example:
        >>> a, b = object(), object()
        >>> both, neither = object(), object()
        >>> truths = Truths()
        >>> truths.define(both, "and", a, b)
        >>> with truths.supposing(a, True), truths.supposing(both, False):
        ...     truths.answer(b), truths.answer(neither)
        (False, None)
    """

    def __init__(self) -> None:
        self._formulas: dict[int, Formula] = {}
        self._kept: dict[int, Any] = {}
        self._comparisons: dict[int, Any] = {}
        self._supposed: list[tuple[Any, bool]] = []

    def define(self, result: Any, operation: str, *parts: Any) -> None:
        """What a truth value is made of.

        Args:
            result: the truth value.
            operation: "not", "and" or "or".
            parts: the truth values that it is made of.
        """
        self._kept[id(result)] = result
        self._formulas[id(result)] = operation, parts

    def define_choice(self, result: Any, condition: Any, left: Any, right: Any) -> None:
        """A truth value that is `left` where a condition holds, else `right`.

        Args:
            result: the truth value.
            condition: another one.
            left, right: truth values, or bools.
        """
        sides = [self._constant(v) if isinstance(v, bool) else v for v in (left, right)]
        absent, first, last = object(), object(), object()
        self.define(absent, "not", condition)
        self.define(first, "and", condition, sides[0])
        self.define(last, "and", absent, sides[1])
        self.define(result, "or", first, last)

    def _constant(self, value: bool) -> Any:
        made = object()
        self.define(made, "and" if value else "or")
        return made

    def compare(self, result: Any, condition: Any) -> None:
        """Remember of which comparison of sizes a truth value is the result."""
        self._kept[id(result)] = result
        self._comparisons[id(result)] = condition

    def comparisons(self) -> dict[int, Any]:
        """The comparisons of sizes that follow from what is supposed, by their truth values."""
        found = {}
        for value, _ in self._supposed:
            for symbol in self._symbols(value):
                condition = self._comparisons.get(symbol)
                answer = None if condition is None else self.answer(self._kept[symbol])
                if answer is not None:
                    found[symbol] = condition if answer else sympy.Not(condition)
        return found

    def has(self, value: Any) -> bool:
        """Whether it is known what a truth value is made of."""
        return id(value) in self._formulas

    @contextmanager
    def supposing(self, value: Any, answer: bool) -> Iterator[None]:
        """In this context, a truth value is known."""
        self._supposed.append((value, answer))
        try:
            yield
        finally:
            self._supposed.pop()

    def answer(self, value: Any) -> bool | None:
        """A truth value, if it follows from what is supposed, or is the same in all cases."""
        if not self._supposed and not self.has(value):
            return None
        own = set(self._symbols(value))
        every = [_Fact(v, answer, set(self._symbols(v))) for v, answer in self._supposed]
        facts = _related(own, every)
        symbols = own.union(*(fact.symbols for fact in facts))
        if len(symbols) > _MOST:
            facts = [fact for fact in facts if fact.symbols <= own]
            symbols = own
        if not (facts or self.has(value)) or len(symbols) > _MOST:
            return None
        found = set()
        for values in itertools.product((False, True), repeat=len(symbols)):
            case = dict(zip(sorted(symbols), values))
            if all(self._value(fact.value, case) == fact.answer for fact in facts):
                found.add(self._value(value, case))
                if len(found) > 1:
                    return None
        return found.pop() if len(found) == 1 else None

    def _symbols(self, value: Any) -> dict[int, None]:
        """The truth values that one is made of in the end, in their order."""
        found: dict[int, None] = {}
        seen, waiting = set[int](), [value]
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            formula = self._formulas.get(id(one))
            if formula is None:
                found[id(one)] = None
            else:
                waiting += reversed(formula[1])
        return found

    def _value(self, value: Any, case: dict[int, bool]) -> bool:
        """A truth value in a case, in which those that it is made of are noted, too."""
        known = case.get(id(value))
        if known is not None:
            return known
        operation, parts = self._formulas[id(value)]
        if operation == "not":
            found = not self._value(parts[0], case)
        else:
            join = all if operation == "and" else any
            found = join(self._value(part, case) for part in parts)
        case[id(value)] = found
        return found


def _related(symbols: set[int], facts: list[_Fact]) -> list[_Fact]:
    """The facts about symbols, and those about what these have to do with."""
    known = set(symbols)
    found: list[_Fact] = []
    rest = facts
    while True:
        near = [fact for fact in rest if known & fact.symbols]
        if not near:
            return found
        rest = [fact for fact in rest if not known & fact.symbols]
        found += near
        known.update(*(fact.symbols for fact in near))
