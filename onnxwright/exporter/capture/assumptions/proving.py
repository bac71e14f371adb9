"""Conditions on sizes that hold at all sizes, or at none: `(n + (-n) % 4) % 4 == 0`.

What Python computes of a size with `//`, `%`, `min` and `max` by constants is a polynomial of the
size for each remainder, beyond the sizes at which a comparison turns (`settled_from`).  A condition
that holds up to a period beyond the last of these sizes holds at all sizes.

A condition on several sizes is one on each of them, if no comparison in it has two; or one on their
sum or difference, if it has them nowhere else.  Nothing is said of others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.capture.assumptions.size_functions import compiled
from onnxwright.exporter.capture.assumptions.turning_points import (
    divided,
    is_division,
    period_of,
    settled_from,
)
from onnxwright.exporter.torch_internals import ValueRanges, bound_sympy

# How many sizes, and how many combinations of several, are tried for one condition.
_MOST_SIZES = 20_000
_MOST_COMBINED = 40_000
# The largest size, and numbers that stand for "to the end" where they are larger.
_LARGEST_SIZE, _LARGEST_NUMBER = (1 << 63) - 1, 1 << 31
# For how many combinations of remainders a condition on several sizes is looked at.
_MOST_REMAINDERS = 64
# Sizes at which most conditions turn that hold at some sizes only.
_SAMPLES = (1, 2, 3, 5, 8, 9, 16, 100, 1021, 4096)


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
        """Whether a condition holds at all sizes; None where it does at some only, or may.

        Args:
            condition: a sympy expression of torch's symbols.
        """
        if condition not in self._known:
            self._known[condition] = None  # a proof that comes back to its condition is none
            self._known[condition] = self._answered(condition)
        return self._known[condition]

    def holds_where(self, condition: Any, where: Any) -> bool:
        """Whether a condition holds at all sizes at which another one does, or a part of it."""
        parts = where.args if isinstance(where, sympy.And) else ()
        return any(
            self.answer(sympy.Or(sympy.Not(one), condition)) is True for one in (where, *parts)
        )

    def _answered(self, condition: Any) -> bool | None:
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        if _turns(condition):
            return None
        has_limits = any(abs(n) > _LARGEST_NUMBER for n in condition.atoms(sympy.Integer))
        if len(condition.free_symbols) > 1 or has_limits:
            condition = _simpler(condition)
            if condition in (sympy.true, sympy.false):
                return bool(condition)
        if any(len(atom.free_symbols) > 1 for atom in _comparisons(condition)):
            answers: set[bool | None] = set()
            for one in _of_one_size(condition) or _of_remainders(condition):
                answers.add(self.answer(one))
                if answers not in ({True}, {False}):
                    return None
            return answers.pop() if answers else None
        return _tried_everywhere(condition)


def _turns(condition: Any) -> bool:
    """Whether a condition holds at one of some sizes, and not at another: most do."""
    symbols = tuple(sorted(condition.free_symbols, key=str))
    function = compiled(condition, symbols)
    if function is None or not symbols:
        return False
    found: bool | None = None
    for size, step in itertools.product(_SAMPLES, (0, 1, 6)):
        try:
            holds = bool(function(*(size + step * n for n in range(len(symbols)))))
        except (ArithmeticError, ValueError, TypeError, NameError):
            return False
        if found is not None and holds != found:
            return True
        found = holds
    return False


def _tried_everywhere(condition: Any) -> bool | None:
    """The answer to a condition of which no comparison has two sizes."""
    symbols = tuple(sorted(condition.free_symbols, key=str))
    function = compiled(condition, symbols)
    if function is None or not symbols:
        return None
    sizes = []
    for symbol in symbols:
        tried = _sizes_of(condition, symbol)
        if tried is None:
            return None
        sizes.append(tried)
    most = _MOST_SIZES if len(symbols) == 1 else _MOST_COMBINED
    if math.prod(map(len, sizes)) > most:
        return None
    found: set[bool] = set()
    for given in itertools.product(*sizes):
        try:
            found.add(bool(function(*given)))
        except (ArithmeticError, ValueError, TypeError, NameError):
            return None
        if len(found) > 1:
            return None
    return found.pop() if found else None


def _sizes_of(condition: Any, symbol: Any) -> range | None:
    """The sizes of one symbol that decide, by the comparisons that have it; None if unknown."""
    atoms = [atom for atom in _comparisons(condition) if symbol in atom.free_symbols]
    period = math.lcm(1, *map(period_of, atoms))
    last = 1
    for atom in atoms:
        settled = settled_from(atom, symbol)
        if settled is None:
            return None
        last = max(last, settled)
    return range(1, last + period + 1)


def _comparisons(condition: Any) -> list[Any]:
    """The comparisons of a condition; the condition itself if there are none."""
    found = condition.atoms(sympy.core.relational.Relational)
    return sorted(found, key=str) or [condition]


def _simpler(condition: Any) -> Any:
    """A condition without common factors, and with comparisons that bounds of sizes decide."""
    replaced = {}
    for atom in _comparisons(condition):
        other = atom
        if isinstance(atom, (sympy.Eq, sympy.Ne)):
            equal = of_one_row(sympy.Eq(*atom.args, evaluate=False))
            other = equal if isinstance(atom, sympy.Eq) else sympy.Not(equal)
        known = by_bounds(other)
        if known is not None:
            other = known
        if other is not atom:
            replaced[atom] = other
    return condition.xreplace(replaced) if replaced else condition


def by_bounds(comparison: Any, ranges: Mapping[str, tuple[int, int | None]] | None = None) -> Any:
    """Whether a comparison holds as both sides have bounds.

    Args:
        comparison: a sympy expression.
        ranges: symbol -> the smallest and the largest size; without, from 1 to the largest int64.

    Returns:
        The truth value of sympy; None where bounds do not decide.

    Example:
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> by_bounds(n <= 64, {"n": (0, 64)}), by_bounds(n <= 64, {"n": (0, None)})
        (True, None)
    """
    if not isinstance(comparison, sympy.core.relational.Relational):
        return None
    known = {}
    for symbol in comparison.free_symbols:
        low, high = (1, _LARGEST_SIZE) if ranges is None else ranges.get(str(symbol), (0, None))
        known[symbol] = ValueRanges(low, sympy.oo if high is None else high)
    try:
        found = bound_sympy(comparison.lhs - comparison.rhs, known)
        signs = [sign for sign, is_possible in
                 ((-1, found.lower < 0), (0, found.lower <= 0 <= found.upper), (1, found.upper > 0))
                 if is_possible]  # fmt: skip
    except Exception:  # noqa: BLE001 - torch's bounds raise what they like for functions of others
        return None
    answers = {comparison.func(sign, 0) for sign in signs}
    return answers.pop() if len(answers) == 1 else None


def _of_one_size(condition: Any) -> list[Any]:
    """A condition on two sizes as conditions on one that hold together: of their sum or difference.

    A difference is above 0, below 0 or 0.
    """
    symbols = sorted(condition.free_symbols, key=str)
    if len(symbols) == 2:
        one, two = symbols
        new = sympy.Symbol("one_size", integer=True, positive=True)
        if _is_replaced(condition, one, new - two, two):
            return [condition.xreplace({one: new - two})]
        if _is_replaced(condition, one, two + new, two):
            return [condition.xreplace({one: two + v}) for v in (new, -new, sympy.Integer(0))]
    return []


def _of_remainders(condition: Any) -> list[Any]:
    """A condition without divisions, for each combination of remainders; none for too many."""
    symbols = sorted(condition.free_symbols, key=str)
    period = period_of(condition)
    if period == 1 or period ** len(symbols) > _MOST_REMAINDERS:
        return []
    names = [sympy.Symbol(f"whole_{s}", integer=True, positive=True) for s in symbols]
    found = []
    for rest in itertools.product(range(1, period + 1), repeat=len(symbols)):
        sizes = {s: period * (n - 1) + r for s, n, r in zip(symbols, names, rest, strict=True)}
        found.append(condition.xreplace(sizes).replace(is_division, divided))
    return found if all(period_of(one) == 1 for one in found) else []


def _is_replaced(condition: Any, symbol: Any, by: Any, other: Any) -> bool:
    return other not in condition.xreplace({symbol: by}).free_symbols


def of_one_row(equality: Any) -> Any:
    """An equality without the sizes that are factors of both sides, such as that of the batch."""
    sides = equality.args
    if len(sides) == 2 and sides[1] == 0 and type(sides[0]).__name__ in ("Mod", "PythonMod"):
        sides = sides[0].args
    factors = [
        s
        for s in equality.free_symbols
        if all(sympy.Mul.make_args(side).count(s) == 1 for side in sides)
        and not any(s in f.free_symbols for x in sides for f in sympy.Mul.make_args(x) if f != s)
    ]
    return equality.xreplace({s: sympy.Integer(1) for s in factors})
