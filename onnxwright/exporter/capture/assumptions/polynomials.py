"""Conditions on sizes as comparisons of polynomials with 0.

A quotient, a remainder and an extreme is a variable of its own, with what holds for it: `n // 4` is
the `q` with `0 <= n - 4 * q <= 3`.  Numbers are integers; a float is one where its arithmetic is
exact, or is rounded right.  What cannot be written so is left out, which says less.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.torch_internals import size_functions as functions

Range = tuple[int, "int | None"]
# A monomial is the names of its variables in order; the constant has none.
Polynomial = dict[tuple[str, ...], Any]
# "ge" and "eq" of a polynomial and 0; "and" and "or" of a list of formulas.
Formula = tuple[str, Any]

_TRUE: Formula = ("and", [])
_LARGEST_SIZE, _LARGEST_NUMBER = (1 << 63) - 1, 1 << 31
LARGEST_DENOMINATOR = 64
_HIGHEST_POWER = 4
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class _UnknownError(Exception):
    """An expression is not a polynomial."""


def total(*terms: Polynomial) -> Polynomial:
    """The sum of polynomials."""
    factors: Polynomial = {}
    for term in terms:
        for monomial, factor in term.items():
            factors[monomial] = factors.get(monomial, 0) + factor
    return {m: c for m, c in factors.items() if c}


def product(one: Polynomial, two: Polynomial) -> Polynomial:
    """The product of polynomials."""
    factors: Polynomial = {}
    for (m, c), (n, d) in itertools.product(one.items(), two.items()):
        monomial = tuple(sorted(m + n))
        factors[monomial] = factors.get(monomial, 0) + c * d
    return {m: c for m, c in factors.items() if c}


def _times(one: Polynomial, factor: Any) -> Polynomial:
    return {m: c * factor for m, c in one.items()} if factor else {}


def _variable(name: str) -> Polynomial:
    return {(name,): 1}


def _constant(number: Any) -> Polynomial:
    return {(): number} if number else {}


class Polynomials:
    """The polynomials of some conditions.

    Args:
        ranges: the smallest and the largest size of symbols, by name.
        least: the smallest size of others.

    Fields:
        symbols: the names of symbols.
        facts: what holds for the variables.
    """

    def __init__(self, ranges: Mapping[str, Range], least: int) -> None:
        self.ranges, self.least = ranges, least
        self.symbols: list[str] = []
        self.facts: list[Formula] = []
        self.bounds: dict[str, tuple[int | None, int | None]] = {}
        self._names: dict[Any, str] = {}
        self._computed: list[tuple[str, Callable[[dict[str, Any]], Any]]] = []

    def formula(self, condition: Any, *, holds: bool = True) -> Formula:
        """A condition, or its negation; a part that is not about polynomials is left out."""
        if condition in (sympy.true, sympy.false):
            return _TRUE if bool(condition) is holds else ("or", [])
        if isinstance(condition, sympy.Not):
            return self.formula(condition.args[0], holds=not holds)
        if isinstance(condition, (sympy.And, sympy.Or)):
            kind = "and" if isinstance(condition, sympy.And) is holds else "or"
            return kind, [self.formula(one, holds=holds) for one in condition.args]
        if not isinstance(condition, sympy.core.relational.Relational):
            return _TRUE
        try:
            left, right = map(self.polynomial, condition.args)
            _check_exact(left, right)
        except _UnknownError:
            return _TRUE
        sign = condition.rel_op if holds else _NEGATED[condition.rel_op]
        difference = _whole(total(left, _times(right, -1)))[0]
        above, below = ("ge", difference), ("ge", _times(difference, -1))
        one = _constant(-1)
        more, less = ("ge", total(difference, one)), ("ge", total(below[1], one))
        return {"==": ("eq", difference), "!=": ("or", [more, less]), ">=": above, ">": more,
                "<=": below, "<": less}[sign]  # fmt: skip

    def polynomial(self, expression: Any) -> Polynomial:
        """An expression of sympy.

        Raises:
            _UnknownError: it is not one.
        """
        args = expression.args
        if expression.is_Integer:
            self._bound_symbols(abs(int(expression)))
            return _constant(int(expression))
        if expression.is_Rational or expression.is_Float:
            number = (
                Fraction(str(expression)) if expression.is_Rational else Fraction(float(expression))
            )
            if number.denominator > LARGEST_DENOMINATOR:
                raise _UnknownError
            return _constant(number)
        if expression.is_Symbol and expression.is_integer:
            return _variable(self._symbol(expression))
        if expression.is_Add:
            parts = [self.polynomial(a) for a in args]
            _check_exact(*parts)
            return total(*parts)
        if expression.is_Mul:
            return self._product([self.polynomial(a) for a in args])
        is_power = isinstance(expression, (sympy.Pow, functions.PowByNatural))
        if is_power and args[1].is_Integer and 0 < args[1] <= _HIGHEST_POWER:
            return self._product([self.polynomial(args[0])] * int(args[1]))
        if expression.func not in _FUNCTIONS:
            raise _UnknownError
        return _FUNCTIONS[expression.func](self, *map(self.polynomial, args))

    def _product(self, parts: list[Polynomial]) -> Polynomial:
        partial_product = _constant(1)
        for part in parts:
            for one, other in ((part, partial_product), (partial_product, part)):
                if not _is_exact(one) and not (len(other) == 1 and _is_power_of_2(other.get(()))):
                    raise _UnknownError
            partial_product = product(partial_product, part)
        return partial_product

    def _symbol(self, symbol: Any) -> str:
        name = str(symbol)
        if name not in self.bounds:
            low, high = self.ranges.get(name, (None, None))
            if symbol.is_nonnegative:  # a size, not another number
                low = max(low or 0, self.least)
            self.symbols.append(name)
            self._bound(name, low, high)
        return name

    def _bound(self, name: str, low: int | None, high: int | None) -> None:
        self.bounds[name] = low, high
        if low is not None:
            self.facts.append(("ge", total(_variable(name), _constant(-low))))
        if high is not None:
            self.facts.append(("ge", {(): high, (name,): -1}))

    def _bound_symbols(self, number: int) -> None:
        """Large numbers stand for "to the end": sizes are numbers of 64 bits."""
        if number > _LARGEST_NUMBER and "" not in self.bounds:
            self.bounds[""] = None, None
            for name in [n for n in self.symbols if self.bounds[n][1] is None]:
                self._bound(name, self.bounds[name][0], _LARGEST_SIZE)

    def _variable(self, key: Any, compute: Callable[[dict[str, Any]], Any]) -> tuple[str, bool]:
        """The variable of what is computed; whether it is new."""
        if key in self._names:
            return self._names[key], False
        name = self._names[key] = f"#{len(self._names)}"
        self._computed.append((name, compute))
        return name, True

    def quotient(self, over: Polynomial, under: Polynomial) -> Polynomial:
        """The quotient, rounded down."""
        over, under = self._cancelled(over, under)
        if set(under) <= {()}:
            return self._floor(over, under.get((), 0))
        low = self.interval(under)[0]
        if low is None or low < 1 or not (_is_whole(over) and _is_whole(under)):
            raise _UnknownError
        key = "quotient", frozenset(over.items()), frozenset(under.items())
        name, is_new = self._variable(key, lambda v: _value(over, v) // _value(under, v))
        if is_new:
            low, high = self.interval(over)
            self._bound(name, 0 if low is not None and low >= 0 else None, high)
            whole = product(under, _variable(name))
            rest = total(over, _times(whole, -1))
            self.facts.append(("ge", rest))
            self.facts.append(("ge", total(under, _constant(-1), _times(rest, -1))))
        return _variable(name)

    def _cancelled(self, one: Polynomial, two: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Both without the sizes above 0 that are factors of both."""
        for name in _common([*one, *two]) if one else ():
            if (self.bounds[name][0] or 0) >= 1:
                one, two = (_without(p, name) for p in (one, two))
        return one, two

    def _floor(self, over: Polynomial, under: Any) -> Polynomial:
        """A quotient by a constant, rounded down."""
        if not under:
            raise _UnknownError
        over, divisor = _whole(_times(over, 1 / Fraction(under)))
        whole = {m: math.trunc(Fraction(c, divisor)) for m, c in over.items() if m != ()}
        whole[()] = over.get((), 0) // divisor
        rest = total(over, _times(whole, -divisor))
        constant = rest.pop((), 0)
        shared = math.gcd(divisor, *rest.values())
        rest = {m: c // shared for m, c in rest.items()} | _constant(constant // shared)
        divisor //= shared
        if not set(rest) <= {()}:
            key = "floor", frozenset(rest.items()), divisor
            name, is_new = self._variable(key, lambda v: _value(rest, v) // divisor)
            if is_new:
                low, high = (None if b is None else b // divisor for b in self.interval(rest))
                self._bound(name, low, high)
                left = total(rest, {(name,): -divisor})
                self.facts.append(("ge", left))
                self.facts.append(("ge", total(_constant(divisor - 1), _times(left, -1))))
            whole[(name,)] = 1
        return {m: c for m, c in whole.items() if c}

    def largest(self, *parts: Polynomial) -> Polynomial:
        """The largest of some."""
        parts = tuple({frozenset(p.items()): p for p in parts}.values())
        for one in parts:
            others = [p for p in parts if p is not one]
            if all((self.interval(total(one, _times(p, -1)))[0] or -1) >= 0 for p in others):
                return one
        if not all(map(_is_whole, parts)):
            raise _UnknownError
        key = "max", frozenset(frozenset(p.items()) for p in parts)
        name, is_new = self._variable(key, lambda v: max(_value(p, v) for p in parts))
        if is_new:
            lows, highs = zip(*map(self.interval, parts), strict=True)
            high = None if None in highs else max(highs)
            self.bounds[name] = max((n for n in lows if n is not None), default=None), high
            above = [total(_variable(name), _times(p, -1)) for p in parts]
            self.facts += [("ge", p) for p in above]
            self.facts.append(("or", [("eq", p) for p in above]))
        return _variable(name)

    def truncated(self, number: Polynomial) -> Polynomial:
        """A number rounded to 0."""
        low, high = self.interval(number)
        below = self._floor(number, 1)
        if low is not None and low >= 0:
            return below
        above = _times(self._floor(_times(number, -1), 1), -1)
        if high is not None and high <= 0:
            return above
        key = "truncated", frozenset(number.items())
        name, is_new = self._variable(key, lambda v: math.trunc(_value(number, v)))
        if is_new:
            self.bounds[name] = None, None
            sign, variable = _whole(number)[0], _variable(name)
            is_above = [("ge", sign), ("eq", total(variable, _times(below, -1)))]
            is_below = [("ge", _times(sign, -1)), ("eq", total(variable, _times(above, -1)))]
            self.facts.append(("or", [("and", is_above), ("and", is_below)]))
        return _variable(name)

    def interval(self, one: Polynomial) -> tuple[Any, Any]:
        """A lower and an upper bound; None for no bound."""
        low: Any = 0
        high: Any = 0
        for monomial, factor in one.items():
            least, most = self._interval(monomial)
            if factor < 0:
                least, most = most, least
            low = None if low is None or least is None else low + factor * least
            high = None if high is None or most is None else high + factor * most
        return low, high

    def _interval(self, monomial: tuple[str, ...]) -> tuple[Any, Any]:
        bounds = [self.bounds.get(name, (None, None)) for name in monomial]
        if len(bounds) == 1:
            return bounds[0]
        if any(low is None or low < 0 for low, _ in bounds):
            return None, None
        highs = [high for _, high in bounds]
        return math.prod(low or 0 for low, _ in bounds), (
            None if None in highs else math.prod(h or 0 for h in highs)
        )

    def without_factors(self, one: Polynomial, *, is_equal: bool = False) -> Polynomial:
        """What follows from that a polynomial is at least 0, or is 0, without common factors.

        It is equivalent where the constant is not above 0.
        """
        constant = one.get((), 0)
        if constant and is_equal:
            return one
        rest = {m: c for m, c in one.items() if m != ()}
        for name in _common(rest):
            if (self.bounds.get(name, (0, 0))[0] or 0) >= 1:
                # Of an integer times a size; where that is above 0, the integer is 1 or more.
                rest, constant = _without(rest, name), max(constant, -1)
                one = total(rest, _constant(constant))
                constant = one.get((), 0)
                rest = {m: c for m, c in one.items() if m != ()}
                if constant and is_equal:
                    return one
        return one

    def bounds_of_products(self, polynomials: list[Polynomial]) -> list[Polynomial]:
        """What follows for products from the bounds of their factors."""
        waiting = [m for m in dict.fromkeys(m for p in polynomials for m in p) if len(m) > 1]
        seen, bounds = set(waiting), []
        while waiting:
            monomial = waiting.pop()
            for n, name in enumerate(monomial):
                others = monomial[:n] + monomial[n + 1 :]
                distances = []
                for part in ((name,), others):
                    low, high = self._interval(part)
                    below = [] if low is None else [total({part: 1}, _constant(-low))]
                    distances.append(below + ([] if high is None else [{(): high, part: -1}]))
                bounds += [product(a, b) for a, b in itertools.product(*distances)]
                if len(others) > 1 and others not in seen:
                    seen.add(others)
                    waiting.append(others)
        return bounds

    def values(self, sizes: list[int]) -> dict[str, Any]:
        """The variables at sizes within the bounds."""
        value_by_name: dict[str, Any] = {}
        for name, size in zip(self.symbols, sizes, strict=True):
            low, high = self.bounds[name]
            size = size if high is None else min(size, high)
            value_by_name[name] = size if low is None else max(low, size)
        for name, compute in self._computed:
            value_by_name[name] = compute(value_by_name)
        return value_by_name

    def holds(self, formula: Formula, values: dict[str, Any]) -> bool:
        """Whether a formula holds at values of the variables."""
        kind, parts = formula
        if kind in ("and", "or"):
            answers = (self.holds(one, values) for one in parts)
            return all(answers) if kind == "and" else any(answers)
        value = _value(parts, values)
        return bool(value == 0 if kind == "eq" else value >= 0)


def _value(one: Polynomial, values: dict[str, Any]) -> Any:
    return sum(c * math.prod(values[name] for name in m) for m, c in one.items())


def _whole(one: Polynomial) -> tuple[Polynomial, int]:
    """A polynomial with whole factors, and the number by which it was multiplied."""
    under = math.lcm(1, *(c.denominator for c in one.values()))
    return {m: int(c * under) for m, c in one.items()}, under


def _is_whole(one: Polynomial) -> bool:
    return all(c.denominator == 1 for c in one.values())


def _is_power_of_2(number: Any) -> bool:
    return bool(number) and all(
        n & (n - 1) == 0 for n in (abs(number.numerator), number.denominator)
    )


def _is_exact(one: Polynomial) -> bool:
    """Whether floats have a number without rounding it: not `n / 3`."""
    return all(_is_power_of_2(Fraction(1, c.denominator)) for c in one.values())


def _check_exact(*parts: Polynomial) -> None:
    """Refuse a sum of two numbers that floats round, which may be a whole number."""
    if sum(not _is_exact(p) for p in parts) > 1:
        raise _UnknownError


def _common(monomials: Any) -> list[str]:
    """The names that each of some monomials has."""
    first, *rest = monomials or [()]
    counts = Counter(first)
    for one in rest:
        counts &= Counter(one)
    return list(counts.elements())


def _without(one: Polynomial, name: str) -> Polynomial:
    """A polynomial of which each monomial is divided by a variable."""
    divided = {}
    for monomial, factor in one.items():
        n = monomial.index(name)
        divided[monomial[:n] + monomial[n + 1 :]] = factor
    return divided


def _divided(self: Polynomials, over: Polynomial, under: Polynomial) -> Polynomial:
    """A quotient that is not rounded to an integer."""
    if set(under) != {()} or not _is_whole(over):
        raise _UnknownError
    return _times(over, 1 / Fraction(under[()]))


def _remainder(self: Polynomials, over: Polynomial, under: Polynomial) -> Polynomial:
    return total(over, _times(product(under, self.quotient(over, under)), -1))


def _smallest(self: Polynomials, *parts: Polynomial) -> Polynomial:
    return _times(self.largest(*(_times(p, -1) for p in parts)), -1)


def _up(self: Polynomials, over: Polynomial, under: Polynomial) -> Polynomial:
    return _times(self.quotient(_times(over, -1), under), -1)


_FUNCTIONS: dict[Any, Callable[..., Polynomial]] = {
    functions.FloorDiv: Polynomials.quotient,
    functions.CleanDiv: Polynomials.quotient,
    functions.CeilDiv: _up,
    functions.Mod: _remainder,
    functions.PythonMod: _remainder,
    functions.Max: Polynomials.largest,
    functions.Min: _smallest,
    sympy.Max: Polynomials.largest,
    sympy.Min: _smallest,
    sympy.Abs: lambda self, one: self.largest(one, _times(one, -1)),
    functions.IntTrueDiv: _divided,
    functions.FloorToInt: lambda self, one: self.quotient(one, _constant(1)),
    functions.CeilToInt: lambda self, one: _up(self, one, _constant(1)),
    functions.TruncToInt: Polynomials.truncated,
    functions.ToFloat: lambda self, one: one,
    functions.Identity: lambda self, one: one,
}
