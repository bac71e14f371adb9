"""Sizes at which conditions hold: examples of one side of a decision.

They are looked for near the example, then by halves: a range of sizes at which it is proven that
the conditions do not hold is left out (`facts`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.capture.assumptions.polynomials import Range
from onnxwright.exporter.torch_internals import PythonPrinter

# How far from the example all sizes are tried, and up to which size there are others.
_CLOSE, _LARGEST = 12, 1 << 24
# How many ranges of sizes are looked at.
_LOOKED_AT = 200


def fitting(
    conditions: Sequence[Any], now: Mapping[str, int], ranges: Mapping[str, Range]
) -> dict[str, int] | None:
    """Sizes at which all conditions hold, those of the example where that is possible.

    Args:
        conditions: sympy expressions of torch's symbols.
        now: symbol -> the size of the example.
        ranges: symbol -> the declared range.

    Returns:
        Symbol -> size; None if none is found.

    Example:
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> fitting([n > 6, sympy.Eq(n % 4, 0)], {"n": 3}, {})
        {'n': 8}
        >>> from torch.utils._sympy.functions import FloorDiv
        >>> fitting([sympy.Eq(FloorDiv(n, 8), 500)], {"n": 3}, {})
        {'n': 4000}
    """
    involved = sorted({str(s) for c in conditions for s in c.free_symbols})
    if any(s not in now for s in involved):
        return None
    within = {s: _within(ranges.get(s)) for s in involved}
    sizes = _Search(conditions, now).sizes(Facts(tuple(conditions)), within)
    return None if sizes is None else {**now, **sizes}


def first_size(condition: Any, symbol: Any, low: int = 1) -> int | None:
    """The first size from one on at which a condition on it holds; None if none is found."""
    sizes = fitting([condition], {str(symbol): low}, {str(symbol): (low, None)})
    return None if sizes is None else sizes[str(symbol)]


def _within(declared: Range | None) -> tuple[int, int]:
    low, high = declared or (0, None)
    return max(low, 1), _LARGEST if high is None else high


class _Search:
    """A search for sizes at which conditions hold."""

    def __init__(self, conditions: Sequence[Any], now: Mapping[str, int]) -> None:
        self.conditions, self.now, self.left = conditions, now, _LOOKED_AT

    def sizes(self, facts: Facts, within: dict[str, tuple[int, int]]) -> dict[str, int] | None:
        """The sizes, within ranges; None if none are found."""
        symbol = next((s for s, (low, high) in within.items() if low != high), None)
        if symbol is None:
            sizes = {s: low for s, (low, _) in within.items()}
            return sizes if all(value_of(c, sizes) for c in self.conditions) else None
        for low, high in self._parts(symbol, *within[symbol]):
            one: dict[str, tuple[int, int]] = {**within, symbol: (low, high)}
            is_last = all(least == most for least, most in one.values())
            self.left -= not is_last
            if self.left < 0:
                return None
            if is_last or facts.within(one).are_possible():
                inner_sizes = self.sizes(facts, one)
                if inner_sizes is not None:
                    return inner_sizes
        return None

    def _parts(self, symbol: str, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Parts of a range: sizes near the example and what is around them, or two halves."""
        now = self.now[symbol]
        if not low <= now <= high:
            middle = (low + high) // 2
            halves = [(low, middle), (middle + 1, high)]
            yield from halves if low > now else reversed(halves)
            return
        above, below = range(now, now + _CLOSE), range(now - 1, max(now - _CLOSE, 1), -1)
        yield from ((n, n) for n in (*above, *below) if low <= n <= high)
        rest = (now + _CLOSE, high), (max(low, 2), now - _CLOSE), (low, min(1, now - 1))
        yield from (part for part in rest if part[0] <= part[1])  # 1 is a constant for torch


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
    """The value of an expression at sizes; None if it has none.

    Args:
        expression: a sympy expression of torch's symbols.
        sizes: by the names of the symbols.
    """
    symbols = tuple(sorted(expression.free_symbols, key=str))
    function = compiled(expression, symbols)
    if function is None or any(str(s) not in sizes for s in symbols):
        return None
    try:
        return function(*(sizes[str(s)] for s in symbols))
    except (ArithmeticError, ValueError, TypeError, NameError):
        return None


def at_size(condition: Any, symbol: Any, size: int = 0, others: int = 2) -> Any:
    """The value of an expression at one size, and at another for all other symbols.

    Args:
        condition: a sympy expression of torch's symbols.
        symbol: the one that has the size; torch takes sizes for 2 or more.
    """
    sizes = {str(s): size if s == symbol else others for s in condition.free_symbols}
    return value_of(condition, sizes)
