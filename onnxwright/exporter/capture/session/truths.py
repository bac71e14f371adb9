"""What follows from decisions that were made: on the side where `a and b` holds, `a` holds.

The side after `if ok is True` and `elif ok is False`, or after the last of `case (True, _)` and
`case (False, _)`, never runs; without this it would have to give a result.  A fact is followed as
far as it determines others (unit propagation), so its cost grows with what it is made of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import sympy  # type: ignore[import-untyped]

Formula = tuple[str, tuple[Any, ...]]


class Truths:
    """Truth values of Python that are known at run time only, and what is supposed of them.

    Example:
        >>> a, b = object(), object()
        >>> both, neither = object(), object()
        >>> truths = Truths()
        >>> truths.define(both, "and", a, b)
        >>> truths.suppose(a, True)
        >>> truths.suppose(both, False)
        >>> truths.answer(b), truths.answer(neither)
        (False, None)
    """

    def __init__(self) -> None:
        self._formulas: dict[int, Formula] = {}
        self._tags: dict[int, tuple[Any, Any, Any]] = {}
        self._kept: dict[int, Any] = {}
        self._comparisons: dict[int, Any] = {}
        self._supposed: list[tuple[Any, bool]] = []

    def define(self, result: Any, operation: str, *parts: Any) -> None:
        """What a truth value is made of.

        Args:
            result: the truth value.
            operation: "not", "and", "or", or "is" for a tag that is one of some numbers.
            parts: the truth values that it is made of; of "is" the tag, these numbers and all.
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

    def define_tag(self, tag: Any, condition: Any, left: Any, right: Any) -> None:
        """A tag that is `left` where a condition holds, else `right`: tags, or numbers."""
        self._kept[id(tag)] = tag
        self._tags[id(tag)] = condition, left, right

    def _constant(self, value: bool) -> Any:
        truth = object()
        self.define(truth, "and" if value else "or")
        return truth

    def compare(self, result: Any, condition: Any) -> None:
        """Remember of which comparison of sizes a truth value is the result."""
        self._kept[id(result)] = result
        self._comparisons[id(result)] = condition

    def comparisons(self) -> dict[int, Any]:
        """The comparisons of sizes that follow from what is supposed, by their truth values."""
        facts = _Facts(self)
        conditions = {}
        for key, condition in self._comparisons.items() if self._supposed else ():
            answer = facts.answers.get(key)
            if answer is not None:
                conditions[key] = condition if answer else sympy.Not(condition)
        return conditions

    def has(self, value: Any) -> bool:
        """Whether it is known what a truth value is made of."""
        return id(value) in self._formulas

    @contextmanager
    def scope(self) -> Iterator[None]:
        """In this context, what is supposed holds for the context alone: a part that may not run.

        Example:
            >>> ok, truths = object(), Truths()
            >>> with truths.scope():
            ...     truths.suppose(ok, False)
            ...     truths.answer(ok)
            False
            >>> truths.answer(ok) is None
            True
        """
        count = len(self._supposed)
        try:
            yield
        finally:
            del self._supposed[count:]

    def suppose(self, value: Any, answer: bool) -> None:
        """Know a truth value from now on, as after a check that raises an error otherwise."""
        self._supposed.append((value, answer))

    def exclude(self, tag: Any, numbers: Collection[int], every: Collection[int]) -> None:
        """Know from now on that a tag is none of some numbers.

        Args:
            tag: the tag.
            numbers: the numbers that it is not.
            every: all that it may be.
        """
        fact = object()
        self.define(fact, "is", tag, frozenset(numbers), frozenset(every))
        self.suppose(fact, False)

    def answer(self, value: Any) -> bool | None:
        """A truth value, if it follows from what is supposed, or is the same in all cases."""
        if not self._supposed and not self.has(value):
            return None
        return _Facts(self).answer(value)

    def possible(self, tag: Any, numbers: Collection[int]) -> set[int]:
        """Which of some numbers a tag may be, by what is supposed."""
        possible_numbers = _Facts(self).possible(tag, set(numbers)) if self._supposed else None
        return possible_numbers or set(numbers)


class _Facts:
    """What follows from what is supposed now.

    Fields:
        answers: truth values by identity.
        excluded: the numbers that a tag is not, by its identity.
    """

    def __init__(self, truths: Truths) -> None:
        self.formulas, self.tags = truths._formulas, truths._tags
        self.answers: dict[int, bool] = {}
        self.excluded: dict[int, set[int]] = {}
        # Each round notes something new of finitely many truth values.
        while any(self._suppose(value, answer) for value, answer in truths._supposed):
            continue

    def answer(self, value: Any) -> bool | None:
        """A truth value, where it follows."""
        answer = self.answers.get(id(value))
        if answer is not None or id(value) not in self.formulas:
            return answer
        operation, parts = self.formulas[id(value)]
        if operation == "not":
            inner = self.answer(parts[0])
            return None if inner is None else not inner
        if operation == "is":
            tag, numbers, every = parts
            possible = self.possible(tag, set(every))
            if possible <= numbers:
                return True
            return None if possible & numbers else False
        neutral = operation == "and"
        answers = [self.answer(part) for part in parts]
        if (not neutral) in answers:
            return not neutral
        return None if None in answers else neutral

    def possible(self, tag: Any, every: set[int]) -> set[int]:
        """Which of some numbers a tag may be."""
        if isinstance(tag, int):
            return {tag}
        if id(tag) in self.tags:
            condition, left, right = self.tags[id(tag)]
            answer = self.answer(condition)
            ways = [w for w, side in ((left, True), (right, False)) if answer in (None, side)]
            every = set().union(*(self.possible(way, every) for way in ways))
        return every - self.excluded.get(id(tag), set())

    def _suppose(self, value: Any, answer: bool) -> bool:
        """Note what follows from a truth value; whether that is new."""
        new = self.answers.get(id(value)) is None
        self.answers.setdefault(id(value), answer)
        operation, parts = self.formulas.get(id(value), ("", ()))
        if operation == "not":
            return self._suppose(parts[0], not answer) or new
        if operation == "is":
            tag, numbers, every = parts
            return self._exclude(tag, set(every) - numbers if answer else numbers, every) or new
        if not operation:
            return new
        neutral = operation == "and"
        if answer is neutral:
            return any(self._suppose(part, neutral) for part in parts) or new
        others = [part for part in parts if self.answer(part) is not neutral]
        return (len(others) == 1 and self._suppose(others[0], not neutral)) or new

    def _exclude(self, tag: Any, numbers: Collection[int], every: Collection[int]) -> bool:
        """Note which numbers a tag is not; whether that is new."""
        if isinstance(tag, int):
            return False
        excluded = self.excluded.setdefault(id(tag), set())
        new = not excluded.issuperset(numbers)
        excluded.update(numbers)
        if id(tag) not in self.tags:
            return new
        condition, left, right = self.tags[id(tag)]
        for way, other, side in ((left, right, True), (right, left, False)):
            if self.possible(way, set(every)) <= excluded:
                new = self._suppose(condition, not side) or new
                new = self._exclude(other, numbers, every) or new
        return new
