"""Sizes at which conditions hold: examples of one side of a decision.

Nothing is concluded from them; what holds at all sizes is proven (`facts`).  What is tried are the
sizes of the example, those near them, and those at which one side of a comparison passes the other:
`n // 8 > 5` has 8 and 5 as numbers, and turns at 48.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.capture.assumptions.polynomials import LARGEST_DENOMINATOR, Range
from onnxwright.exporter.torch_internals import PythonPrinter

# How many combinations of sizes are looked through, and how far from the example.
_LOOKED_AT = 20_000
_CLOSE = 12
# Up to which size turning points are looked for, and how many.
_LARGEST, _MOST_POINTS = 1 << 24, 64
# The values of a quotient at which sizes are tried, whatever it is compared with.
_QUOTIENTS = (1, 2, 3)
DIVISIONS = ("Mod", "PythonMod", "FloorDiv", "CleanDiv", "IntTrueDiv", "CeilDiv")
_ROUNDED = ("TruncToInt", "FloorToInt", "CeilToInt")
# Up to which period all remainders are tried.
_ALL_REMAINDERS = 64


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
    """
    involved = sorted({str(s) for c in conditions for s in c.free_symbols})
    if any(s not in now for s in involved):
        return None
    near = _near(conditions)

    def possible(symbol: str) -> list[int]:
        size = now[symbol]
        turning = tried_classes(conditions, symbol, now)
        # Near the example, and 1 last: it is a constant for torch.
        close = (*range(size, size + _CLOSE), *range(size - 1, max(size - _CLOSE, 1), -1))
        found = sorted(dict.fromkeys((*close, *near, *turning, 1)), key=lambda n: n < 2)
        return [n for n in found if _is_in(n, ranges.get(symbol))]

    options = [possible(s) for s in involved]
    for chosen in itertools.islice(itertools.product(*options), _LOOKED_AT):
        sizes = {**now, **dict(zip(involved, chosen, strict=True))}
        if all(value_of(c, sizes) for c in conditions):
            return sizes
    return None


def _near(conditions: Sequence[Any]) -> list[int]:
    """Sizes beside the constants of conditions, and multiples of them."""
    numbers = {abs(int(n)) for c in conditions for n in c.atoms(sympy.Integer)}
    numbers |= {m for c in conditions for m in moduli_of(c)}
    found = {k * n + d for n in numbers for k in (1, 2, 3) for d in (-1, 0, 1)}
    return [n for n in sorted(found) if 1 <= n <= 1 << 20]


def _is_in(size: int, declared: Range | None) -> bool:
    low, high = declared or (0, None)
    return size >= max(low, 1) and (high is None or size <= high)


def turning_points(
    condition: Any, symbol: Any, others: Mapping[str, int] | None = None
) -> list[int]:
    """The sizes from which on a comparison, or a quotient in it, is another one.

    Args:
        condition: a sympy expression of torch's symbols.
        symbol: the size.
        others: the other sizes of the condition, by the names of their symbols; 2 by default.

    Returns:
        Sizes of 2 or more in ascending order.

    Example:
        >>> from torch.utils._sympy.functions import FloorDiv
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> turning_points(FloorDiv(n + 3, 8) > 5, n)
        [5, 13, 21, 29, 37, 45]
    """
    fixed = tuple((s, (others or {}).get(str(s), 2)) for s in condition.free_symbols if s != symbol)
    return list(_turning_points(condition, symbol, tuple(sorted(fixed, key=str))))


@functools.lru_cache(maxsize=4096)
def _turning_points(
    condition: Any, symbol: Any, fixed: tuple[tuple[Any, int], ...]
) -> tuple[int, ...]:
    found: set[int] = set()
    symbols, sizes = (symbol, *(s for s, _ in fixed)), [size for _, size in fixed]
    for difference in _differences(condition):
        function = compiled(difference, symbols) if symbol in difference.free_symbols else None
        if function is not None:
            found.update(_crossings(_of_one(function, sizes)))
    return tuple(sorted(found)[:_MOST_POINTS])


def _of_one(function: Callable[..., Any], sizes: Sequence[int]) -> Callable[[int], Any]:
    return lambda size: function(size, *sizes)


def tried_classes(
    conditions: Sequence[Any], symbol: str, others: Mapping[str, int] | None = None
) -> list[int]:
    """Sizes beside the turning points of conditions, with all remainders after each of them.

    Args:
        conditions: sympy expressions.
        symbol: the name of the size.
        others: as for `turning_points`.

    Returns:
        Sizes of 1 or more in ascending order; without the remainders where there are many.

    Example:
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> [s for s in tried_classes([n >= 40, sympy.Eq(n % 8, 3)], "n") if s > 40]
        [41, 42, 43, 44, 45, 46, 47, 48, 49]
    """
    points = {p for c in conditions for s in c.free_symbols if str(s) == symbol
              for p in turning_points(c, s, others)}  # fmt: skip
    period = math.lcm(1, *(period_of(c) for c in conditions))
    last = period if period <= _ALL_REMAINDERS else 1
    return sorted({n for p in points for n in range(p - 1, p + 1 + last) if n >= 1})


def moduli_of(expression: Any) -> list[int]:
    """The constants by which an expression divides, those of nested divisions multiplied.

    Args:
        expression: a sympy expression.
    """
    found: set[int] = set()

    def visit(part: Any, outer: int) -> None:
        kind = type(part).__name__
        if kind in DIVISIONS and part.args[1].is_Integer and part.args[1] != 0:
            outer *= abs(int(part.args[1]))
            found.add(outer)
        elif kind in ("TruncToInt", "FloorToInt", "CeilToInt"):
            # Rounding of what is multiplied by 0.5 repeats after 2 sizes.
            for factor in part.atoms(sympy.Float):
                denominator = Fraction(float(factor)).limit_denominator(LARGEST_DENOMINATOR)
                if denominator.denominator > 1:
                    found.add(outer * denominator.denominator)
        for argument in part.args:
            visit(argument, outer)

    visit(expression, 1)
    return sorted(found)


def period_of(expression: Any) -> int:
    """After how many sizes the remainders in an expression repeat.

    Args:
        expression: a sympy expression.
    """
    return math.lcm(1, *moduli_of(expression))


def _differences(condition: Any) -> Iterator[Any]:
    """What passes 0 where a part of a condition turns."""
    seen: dict[Any, None] = {}
    for part in sympy.preorder_traversal(condition):
        if isinstance(part, sympy.core.relational.Relational):
            seen.setdefault(part.lhs - part.rhs)
        elif type(part).__name__ in ("Max", "Min"):
            for argument in part.args[1:]:
                seen.setdefault(part.args[0] - argument)
        elif type(part).__name__ in ("FloorDiv", "CeilDiv", "CleanDiv", *_ROUNDED):
            for value in _QUOTIENTS:
                seen.setdefault(part - value)
        elif type(part).__name__ in ("Mod", "PythonMod"):
            # Where what is divided first is as large as the divisor.
            seen.setdefault(part.args[0] - part.args[1])
    yield from seen


def _crossings(function: Callable[[int], Any]) -> Iterator[int]:
    """The sizes at which the sign of a function changes between powers of 2."""
    sizes = [1 << k for k in range(_LARGEST.bit_length())]
    signs = [_sign(function, n) for n in sizes]
    for low, high, before, after in zip(sizes, sizes[1:], signs, signs[1:], strict=False):
        if before is None or after is None or before == after:
            continue
        for level in {before, after, 0} - {min(before, after)}:
            yield _first(function, level, low, high)


def _first(function: Callable[[int], Any], level: int, low: int, high: int) -> int:
    """The first of some sizes at which the sign is at least a level, or is less."""

    def reaches(size: int) -> bool:
        sign = _sign(function, size)
        return sign is not None and sign >= level

    begin = reaches(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) == begin else (low, middle)
    return high


def _sign(function: Callable[[int], Any], size: int) -> int | None:
    try:
        value = function(size)
        return int(value > 0) - int(value < 0)
    except (ArithmeticError, ValueError, TypeError, NameError):
        return None


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
