"""Conditions on sizes that hold at all sizes, or at none: `(n + (-n) % 4) % 4 == 0`.

What Python computes of a size with `//`, `%`, `min` and `max` by constants repeats: beyond the
sizes at which they turn, each period of the remainders behaves as the one before.  A condition that
holds up to some periods beyond the last of these sizes holds at all sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.capture.assumptions.size_functions import compiled
from onnxwright.exporter.capture.assumptions.turning_points import (
    period_of,
    settled_from,
    tried_near,
)

# How many sizes, and how many combinations of several, are tried for one condition.
_MOST_SIZES = 20_000
_MOST_COMBINED = 4_000
_PERIODS = 3


class Prover:
    """Answers conditions on sizes; each is looked at once.

    Sizes are 1 at least.

    Example:
        >>> from torch.utils._sympy.functions import PythonMod
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> known = Prover().answer
        >>> known(sympy.Eq(PythonMod(n + PythonMod(-n, 4), 4), 0)), known(sympy.Eq(n, 4))
        (True, None)
    """

    def __init__(self) -> None:
        self._known: dict[Any, bool | None] = {}

    def answer(self, condition: Any) -> bool | None:
        """Whether a condition holds at all sizes; None where it does at some only.

        Args:
            condition: a sympy expression of torch's symbols.
        """
        if condition not in self._known:
            self._known[condition] = self._answered(condition)
        return self._known[condition]

    def holds_where(self, condition: Any, where: Any) -> bool:
        """Whether a condition holds at all sizes at which another one does."""
        return self.answer(sympy.Or(sympy.Not(where), condition)) is True

    def holds_mostly(self, condition: Any) -> bool:
        """Whether a condition holds at more of the sizes that are tried than it does not."""
        symbols = tuple(sorted(condition.free_symbols, key=str))
        function = compiled(condition, symbols)
        if function is None:
            return True
        found = [bool(function(*sizes)) for sizes in self._tried(condition, symbols)]
        return 2 * sum(found) >= len(found)

    def repeats(self, condition: Any) -> bool:
        """Whether a condition holds at some and not at others of sizes beyond its constants."""
        symbols = tuple(sorted(condition.free_symbols, key=str))
        function = compiled(condition, symbols)
        period, largest = period_of(condition), settled_from(condition, symbols)
        if function is None or not symbols or period == 1:
            return False
        sizes = range(largest + 1, largest + period + 1)
        tried = itertools.islice(itertools.product(sizes, repeat=len(symbols)), _MOST_COMBINED)
        found = {bool(function(*sizes)) for sizes in tried}
        return len(found) > 1

    def _answered(self, condition: Any) -> bool | None:
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        symbols = tuple(sorted(condition.free_symbols, key=str))
        function = compiled(condition, symbols)
        if function is None or not symbols:
            return None
        found: set[bool] = set()
        for sizes in self._tried(condition, symbols):
            try:
                found.add(bool(function(*sizes)))
            except (ArithmeticError, ValueError, TypeError, NameError):
                return None
            if len(found) > 1:
                return None
        return found.pop() if found else None

    def _tried(self, condition: Any, symbols: Sequence[Any]) -> Iterator[tuple[int, ...]]:
        """The sizes that decide about a condition: all of one symbol, a grid of several."""
        period, largest = period_of(condition), settled_from(condition, symbols)
        every = range(1, largest + _PERIODS * period + 3)
        if len(symbols) == 1 and len(every) <= _MOST_SIZES:
            yield from ((n,) for n in every)
            return
        each = max(4, int(_MOST_COMBINED ** (1 / len(symbols))))
        options = [
            _spread(every, each, period, largest, tried_near([condition], str(symbol)))
            for symbol in symbols
        ]
        yield from itertools.islice(itertools.product(*options), _MOST_COMBINED)


def _spread(
    sizes: range, count: int, period: int, largest: int, turning: Sequence[int]
) -> list[int]:
    """Some sizes of many: the first, those where something turns, and those beside a period."""
    near = [n + d for n in (period, 2 * period, largest) for d in (-1, 0, 1)]
    chosen = dict.fromkeys((*near, sizes[-1], *turning[: count // 3], *turning[-count // 6 :]))
    first = list(sizes[: max(2, count - len(chosen))])
    return list(dict.fromkeys([*first, *(n for n in chosen if n in sizes)]))[:count]
