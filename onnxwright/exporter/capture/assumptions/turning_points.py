"""Sizes at which conditions turn: where one side of a comparison passes the other.

`n // 8 > 5` has 8 and 5 as numbers, and turns at 48.  Whether conditions exclude sizes, agree or
hold at all sizes is found by trying; what is tried are the sizes at which something changes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.capture.assumptions.size_functions import compiled

# Up to which size turning points are looked for.
LARGEST = 1 << 24
# The values of a quotient at which sizes are tried, whatever it is compared with.
_QUOTIENTS = (1, 2, 3)
_DIVISIONS = ("Mod", "PythonMod", "FloorDiv", "CleanDiv", "IntTrueDiv", "CeilDiv")
_FOUND_FOR_ONE = 64
# Up to which period all remainders are tried.
_ALL_REMAINDERS = 64
# For how many remainders a comparison is looked at.
_MOST_REMAINDERS = 1024
_EXTREMES = ("Max", "Min")
_MOST_CHOICES = 6
# Up to which size conditions are looked at.
_LOOKED_AT = 20_000


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
    return tuple(sorted(found)[:_FOUND_FOR_ONE])


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


def settled_from(comparison: Any, symbol: Any) -> int | None:
    """A size from which on only its remainder decides about a comparison.

    For each remainder, the difference of both sides is a polynomial, and has the sign of its first
    term beyond the bound of Cauchy for its roots: 1 + max |a_i / a_n|.  `Max` and `Min` are one of
    their arguments from some size on, by the same bound for the differences of these.

    Args:
        comparison: a sympy expression.
        symbol: its only symbol.

    Returns:
        The size; None where it is very large, the difference is no polynomial, or there are very
        many remainders.

    Example:
        >>> from torch.utils._sympy.functions import PythonMod
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> settled_from(sympy.Ne(n + 1, 100 * PythonMod(n, 8)), n) > 299
        True
    """
    period = period_of(comparison)
    if not isinstance(comparison, sympy.core.relational.Relational) or period > _MOST_REMAINDERS:
        return None
    whole = sympy.Symbol("whole", integer=True, positive=True)
    differences = [comparison.lhs - comparison.rhs]
    every = comparison.atoms(sympy.Function, sympy.Max, sympy.Min)
    extremes = [part for part in every if type(part).__name__ in _EXTREMES]
    if sum(len(part.args) - 1 for part in extremes) > _MOST_CHOICES:
        return None
    for part in extremes:
        differences += [a - b for a, b in itertools.combinations(part.args, 2)]
    last = 1
    for form in (form for one in differences for form in _forms(one)):
        for rest in range(1, period + 1) if symbol in form.free_symbols else ():
            divided_form = form.xreplace({symbol: period * (whole - 1) + rest})
            divided_form = divided_form.replace(_is_rounded, _resolved)
            try:
                first, *others = sympy.Poly(sympy.expand(divided_form), whole).all_coeffs()
            except sympy.PolynomialError:
                return None
            if not all(n.is_Rational for n in (first, *others)):
                return None
            if others:
                bound = 1 + max(abs(n / first) for n in others)
                last = max(last, period * math.ceil(bound) + rest)
    return last if last <= _LOOKED_AT else None


def _forms(expression: Any) -> list[Any]:
    """An expression for each choice of one argument of its `Max` and `Min`."""
    every = sympy.postorder_traversal(expression)
    part = next((p for p in every if type(p).__name__ in _EXTREMES), None)
    if part is None:
        return [expression]
    return [form for one in part.args for form in _forms(expression.xreplace({part: one}))]


def _is_rounded(part: Any) -> bool:
    """Whether an expression is a quotient, a remainder, or rounded to an integer."""
    return is_division(part) or type(part).__name__ in ("IntTrueDiv", *_ROUNDED) or part.is_Float


def _resolved(part: Any) -> Any:
    """The same without rounding, where all that is not constant is an integer."""
    if part.is_Float:
        exact = Fraction(float(part))
        return sympy.Rational(exact) if exact.denominator <= _LARGEST_DENOMINATOR else part
    if is_division(part):
        return divided(part)
    if type(part).__name__ == "IntTrueDiv":
        return part.args[0] / part.args[1] if part.args[1].is_Integer else part
    constant, rest = sympy.expand(part.args[0]).as_coeff_Add()
    terms = [term.as_coeff_Mul()[0] for term in sympy.Add.make_args(rest)]
    if not constant.is_Rational or not all(n.is_Integer for n in terms):
        return part
    if type(part).__name__ == "TruncToInt" and any(n < 0 for n in (constant, *terms)):
        return part  # it rounds to 0, from below or from above
    is_up = type(part).__name__ == "CeilToInt"
    return rest + (sympy.ceiling(constant) if is_up else sympy.floor(constant))


def is_division(part: Any) -> bool:
    """Whether an expression is a quotient or a remainder by a constant."""
    return type(part).__name__ in ("Mod", "PythonMod", "FloorDiv") and bool(part.args[1].is_Integer)


def divided(part: Any) -> Any:
    """A division of which all that is not constant is divisible, without it."""
    divisor = part.args[1]
    constant, rest = sympy.expand(part.args[0]).as_coeff_Add()
    terms = [term.as_coeff_Mul() for term in sympy.Add.make_args(rest)]
    whole = constant.is_Integer and all(c.is_Integer and c % divisor == 0 for c, _ in terms)
    if not whole or divisor <= 0:
        return part
    if type(part).__name__ != "FloorDiv":
        return constant % divisor
    return sympy.Add(constant // divisor, *(c // divisor * term for c, term in terms))


def interval_of(condition: Any) -> tuple[int, int | None] | None:
    """The sizes at which a condition on one size holds, if they are neighbours.

    Args:
        condition: a sympy expression.

    Returns:
        The smallest and the largest size, which is None without an upper bound; None if the
        sizes are not an interval.

    Example:
        >>> from torch.utils._sympy.functions import FloorDiv
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> interval_of(FloorDiv(n + 3, 8) > 5), interval_of(sympy.Eq(FloorDiv(n, 8), 5))
        ((45, None), (40, 47))
    """
    symbols = tuple(condition.free_symbols)
    function = compiled(condition, symbols) if len(symbols) == 1 else None
    if function is None:
        return None
    atoms = condition.atoms(sympy.core.relational.Relational)
    settled = [settled_from(atom, symbols[0]) for atom in atoms if atom.free_symbols]
    last = max((n for n in settled if n is not None), default=0) + period_of(condition)
    if None in settled or not settled:
        return None
    try:
        answers = [bool(function(n)) for n in range(1, last + 1)]
    except (ArithmeticError, ValueError, TypeError, NameError):
        return None
    turned = [n for n in range(1, last) if answers[n] != answers[n - 1]]
    if True not in answers or len(turned) > 2 or (len(turned) == 2 and answers[0]):
        return None
    low = turned[0] + 1 if not answers[0] else 1
    return low, None if answers[-1] else turned[-1]


def moduli_of(expression: Any) -> list[int]:
    """The constants by which an expression divides, those of nested divisions multiplied.

    Args:
        expression: a sympy expression.
    """
    found: set[int] = set()

    def visit(part: Any, outer: int) -> None:
        kind = type(part).__name__
        if kind in _DIVISIONS and part.args[1].is_Integer and part.args[1] != 0:
            outer *= abs(int(part.args[1]))
            found.add(outer)
        elif kind in ("TruncToInt", "FloorToInt", "CeilToInt"):
            # Rounding of what is multiplied by 0.5 repeats after 2 sizes.
            for factor in part.atoms(sympy.Float):
                denominator = Fraction(float(factor)).limit_denominator(_LARGEST_DENOMINATOR)
                if denominator.denominator > 1:
                    found.add(outer * denominator.denominator)
        for argument in part.args:
            visit(argument, outer)

    visit(expression, 1)
    return sorted(found)


_LARGEST_DENOMINATOR = 64


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


_ROUNDED = ("TruncToInt", "FloorToInt", "CeilToInt")


def _crossings(function: Callable[[int], Any]) -> Iterator[int]:
    """The sizes at which the sign of a function changes between powers of 2."""
    sizes = [1 << k for k in range(LARGEST.bit_length())]
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
