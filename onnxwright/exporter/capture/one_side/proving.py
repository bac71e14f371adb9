"""Conditions on sizes that hold at all sizes, or at none: `(n + (-n) % 4) % 4 == 0`.

What Python computes of a size with `//`, `%`, `min` and `max` by constants repeats: beyond the
constants, each period of the remainders behaves as the one before.  A condition that holds up to
some periods beyond the largest constant holds at all sizes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch
from torch.utils._sympy.printers import PythonPrinter

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
        period, largest = period_of(condition), largest_of(condition)
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
        period, largest = period_of(condition), largest_of(condition)
        every = range(1, largest + _PERIODS * period + 3)
        if len(symbols) == 1 and len(every) <= _MOST_SIZES:
            yield from ((n,) for n in every)
            return
        each = max(4, int(_MOST_COMBINED ** (1 / len(symbols))))
        some = _spread(every, each, period, largest)
        yield from itertools.islice(itertools.product(some, repeat=len(symbols)), _MOST_COMBINED)


def _spread(sizes: range, count: int, period: int, largest: int) -> list[int]:
    """Some sizes of many: the first ones, and those beside a period and a constant."""
    near = [n + d for n in (period, 2 * period, largest) for d in (-1, 0, 1)]
    first = list(sizes[: max(2, count - len(near))])
    return list(dict.fromkeys([*first, *(n for n in near if n in sizes)]))[:count]


def moduli_of(expression: Any) -> list[int]:
    """The constants by which an expression divides, those of nested divisions multiplied."""
    found: set[int] = set()

    def visit(part: Any, outer: int) -> None:
        kind = type(part).__name__
        if kind in ("Mod", "PythonMod", "FloorDiv", "CleanDiv", "IntTrueDiv", "CeilDiv"):
            if part.args[1].is_Integer and part.args[1] != 0:
                outer *= abs(int(part.args[1]))
                found.add(outer)
        for argument in part.args:
            visit(argument, outer)

    visit(expression, 1)
    return sorted(found)


def period_of(expression: Any) -> int:
    """After how many sizes the remainders in an expression repeat."""
    return math.lcm(1, *moduli_of(expression))


def largest_of(expression: Any) -> int:
    """A size beyond which no constant of an expression decides any more."""
    return sum(abs(int(n)) for n in expression.atoms(sympy.Integer) if abs(n) < 1 << 31)


@functools.lru_cache(maxsize=4096)
def compiled(expression: Any, symbols: tuple[Any, ...]) -> Callable[..., Any] | None:
    """An expression as a function of its symbols; None where it has what Python does not.

    Args:
        expression: a sympy expression of torch's symbols.
        symbols: the parameters, in order.
    """
    try:
        names = {s: sympy.Symbol(f"_{n}", integer=True) for n, s in enumerate(symbols)}
        text = PythonPrinter().doprint(expression.xreplace(names))
        parameters = ", ".join(f"_{n}" for n in range(len(symbols)))
        function: Callable[..., Any] = eval(f"lambda {parameters}: {text}", dict(_NAMES))  # noqa: S307
    except Exception:  # noqa: BLE001 - sympy's printers raise what they like
        return None
    return function


class _Torch:
    """The functions of torch that printed expressions call, for numbers of Python."""

    sym_float, sym_int = staticmethod(float), staticmethod(int)
    sym_max, sym_min = staticmethod(max), staticmethod(min)
    _sym_sqrt = staticmethod(math.sqrt)

    @staticmethod
    def sym_ite(test: Any, one: Any, other: Any) -> Any:
        return one if test else other


_NAMES: Mapping[str, Any] = {
    "__builtins__": {
        "max": max,
        "min": min,
        "abs": abs,
        "float": float,
        "int": int,
        "round": round,
    },
    "math": math,
    "torch": _Torch,
}


def value_of(expression: Any, sizes: Mapping[str, int]) -> Any:
    """The value of an expression at sizes, by the names of its symbols; None if it has none."""
    symbols = tuple(sorted(expression.free_symbols, key=str))
    function = compiled(expression, symbols)
    if function is None or any(str(s) not in sizes for s in symbols):
        return None
    try:
        return function(*(sizes[str(s)] for s in symbols))
    except (ArithmeticError, ValueError, TypeError, NameError):
        return None
