"""What is known of sizes, and which conditions follow from it, by proof only.

A condition always holds if what is known of sizes contradicts its negation.  Both
are written as inequalities of polynomials in integers (`polynomials`), and these are shown to have
no solution: variables are eliminated (Fourier and Motzkin), equalities solved in integers (Euclid),
and bounds rounded to integers on the way.  Each step gives what follows from what was there: a
contradiction is a proof.  Where none is found, nothing is said.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch

from onnxwright.exporter.capture.assumptions.polynomials import (
    Formula,
    Polynomial,
    Polynomials,
    Range,
    product,
    total,
)

# How many cases of a proof are looked at, and how many inequalities of one case.
_MOST_CASES, _MOST_INEQUALITIES = 300, 400
# Sizes at which most conditions turn that hold at some sizes only.
_SAMPLES = (1, 2, 3, 5, 8, 9, 16, 100, 1021, 4096)


@dataclass(frozen=True)
class Facts:
    """What is known of sizes.

    Fields:
        conditions: what holds; sympy expressions of torch's symbols.
        ranges: the smallest and the largest size of symbols, by name; None for no bound.
        least: the smallest size of the others.

    Example:
        >>> from torch.utils._sympy.functions import PythonMod
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> known = Facts()
        >>> known.verdict(sympy.Eq(PythonMod(n + PythonMod(-n, 4), 4), 0)), known.verdict(n < 4)
        (True, None)
        >>> known.given(n > 8).verdict(n < 4)
        False
    """

    conditions: tuple[Any, ...] = ()
    ranges: tuple[tuple[str, Range], ...] = ()
    least: int = 1

    def given(self, *conditions: Any) -> Facts:
        """The same, where further conditions hold."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def within(self, ranges: Mapping[str, Range]) -> Facts:
        """The same, where sizes have ranges."""
        return replace(self, ranges=tuple(sorted(ranges.items())))

    def verdict(self, condition: Any) -> bool | None:
        """Whether a condition always holds (True) or never (False); None where neither is proven.

        Args:
            condition: a sympy expression of torch's symbols.
        """
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        return _verdict(self, condition)

    def proves(self, condition: Any) -> bool:
        """Whether a condition always holds."""
        return self.verdict(condition) is True

    def are_possible(self) -> bool:
        """Whether there may be sizes for which all this holds: the contrary is not proven."""
        return _verdict(self, sympy.false) is not True


@functools.lru_cache(maxsize=1 << 14)
def _verdict(facts: Facts, condition: Any) -> bool | None:
    forms = Polynomials(dict(facts.ranges), facts.least)
    premises = [forms.formula(one) for one in _parts(facts.conditions)]
    for answer in _possible(forms, premises, forms.formula(condition)):
        negated = forms.formula(condition, holds=not answer)
        if _Cases(forms).exclude_each_other([], [*premises, negated, *forms.facts]):
            return answer
    return None


def _parts(conditions: Iterable[Any]) -> Iterator[Any]:
    for one in conditions:
        yield from _parts(one.args) if isinstance(one, sympy.And) else (one,)


def _possible(forms: Polynomials, premises: list[Formula], formula: Formula) -> list[bool]:
    """The answers that no sample excludes."""
    answers: dict[bool, None] = {}
    for size, step in itertools.product(_SAMPLES, (0, 1, 6)):
        values = forms.values([size + step * n for n in range(len(forms.symbols))])
        if all(forms.holds(one, values) for one in premises):
            answers[forms.holds(formula, values)] = None
            if len(answers) > 1:
                return []
    return list(answers) or [True, False]


class _Cases:
    """A search for a case in which formulas hold together."""

    def __init__(self, forms: Polynomials) -> None:
        self.forms, self.left = forms, _MOST_CASES

    def exclude_each_other(self, system: list[Formula], formulas: list[Formula]) -> bool:
        """Whether comparisons and formulas have no solution."""
        system, waiting, choices = list(system), list(formulas), []
        while waiting:
            kind, parts = waiting.pop()
            if kind == "and":
                waiting += parts
            elif kind == "or":
                choices.append(parts)
            else:
                system.append((kind, parts))
        self.left -= 1
        if _has_no_solution(self.forms, system):
            return True
        if not choices or self.left < 0:
            return False
        chosen = min(choices, key=len)
        rest: list[Formula] = [("or", parts) for parts in choices if parts is not chosen]
        return all(self.exclude_each_other(system, [one, *rest]) for one in chosen)


def _has_no_solution(forms: Polynomials, system: list[Formula]) -> bool:
    """Whether comparisons of polynomials with 0 contradict each other."""
    equal = [parts for kind, parts in system if kind == "eq"]
    above = [parts for kind, parts in system if kind == "ge"]
    rest: list[Polynomial] = []
    while equal:
        one = equal.pop()
        name = _solved(one)
        if name is None:
            rest.append(one)
            continue
        factor = one[(name,)]
        value = {m: -c * factor for m, c in one.items() if m != (name,)}
        equal, rest, above = ([_put(p, name, value) for p in each] for each in (equal, rest, above))
        equal, rest = equal + rest, []
    rest = [forms.without_factors(p, is_equal=True) for p in rest]
    above += [forms.without_factors(p) for p in above]
    above += forms.bounds_of_products([*rest, *above])
    return _is_infeasible([dict(p) for p in above], [dict(p) for p in rest])


def _solved(one: Polynomial) -> str | None:
    """A variable that an equality gives as a polynomial of the others."""
    for monomial, factor in one.items():
        if len(monomial) == 1 and abs(factor) == 1:
            if not any(monomial[0] in other for other in one if other != monomial):
                return monomial[0]
    return None


def _put(one: Polynomial, name: str, value: Polynomial) -> Polynomial:
    """A polynomial with another one in the place of a variable."""
    if not any(name in monomial for monomial in one):
        return one
    terms = []
    for monomial, factor in one.items():
        term: Polynomial = {tuple(n for n in monomial if n != name): factor}
        for _ in range(monomial.count(name)):
            term = product(term, value)
        terms.append(term)
    return total(*terms)


def _is_infeasible(above: list[Polynomial], equal: list[Polynomial]) -> bool:
    """Whether linear inequalities and equalities have no solution in integers.

    Monomials are variables here.
    """
    fresh = itertools.count()
    while True:
        while equal:
            one = equal.pop()
            constant = one.pop((), 0)
            divisor = math.gcd(*one.values())
            if constant % divisor if one else constant:
                return True
            if one:
                one = {m: c // divisor for m, c in one.items()}
                name, value, left = _solved_for(one, constant // divisor, f"t{next(fresh)}")
                equal = [_replaced(p, name, value) for p in equal] + left
                above = [_replaced(p, name, value) for p in above]
        table = _tightened(above)
        if table is None:
            return True
        for key, constant in table.items():
            opposite = table.get(tuple((m, -c) for m, c in key))
            if opposite is not None and constant + opposite < 0:
                return True
            if opposite == -constant:
                equal = [{**dict(key), (): constant}]
        above = [{**dict(key), (): constant} for key, constant in table.items()]
        if not equal:
            reduced = _without_one(above) if above else None
            if reduced is None:
                return False
            above = reduced


def _solved_for(
    one: Polynomial, constant: int, fresh: str
) -> tuple[Any, Polynomial, list[Polynomial]]:
    """A variable of an equality, what it is by the others, and what is left of the equality."""
    name = min(one, key=lambda m: (abs(one[m]), m))
    least = one.pop(name)
    if abs(least) == 1:
        return name, {m: -c * least for m, c in one.items()} | {(): -constant * least}, []
    # As Euclid: with a new variable for the sum of the quotients, the rest has smaller factors.
    one[()] = constant
    value = {m: -(c // least) for m, c in one.items()} | {(fresh,): 1}
    left = {m: c % least for m, c in one.items() if c % least} | {(fresh,): least}
    return name, value, [left]


def _tightened(above: list[Polynomial]) -> dict[tuple[Any, ...], int] | None:
    """Inequalities with factors that have no common divisor, by these; None for a contradiction."""
    table: dict[tuple[Any, ...], int] = {}
    for one in above:
        constant = one.get((), 0)
        factors = {m: c for m, c in one.items() if m != ()}
        if factors:
            divisor = math.gcd(*factors.values())
            key = tuple(sorted((m, c // divisor) for m, c in factors.items()))
            table[key] = min(table.get(key, constant // divisor), constant // divisor)
        elif constant < 0:
            return None
    return table


def _replaced(one: Polynomial, name: Any, value: Polynomial) -> Polynomial:
    """A linear form with another one in the place of a monomial."""
    factor = one.get(name, 0)
    if not factor:
        return one
    substituted = {m: c for m, c in one.items() if m != name}
    for m, c in value.items():
        substituted[m] = substituted.get(m, 0) + factor * c
    return {m: c for m, c in substituted.items() if c}


def _without_one(above: list[Polynomial]) -> list[Polynomial] | None:
    """The inequalities without one variable: each lower bound of it beside each upper bound.

    None where there are too many.
    """
    signs: dict[Any, list[int]] = {}
    for one in above:
        for m, c in one.items():
            if m != ():
                signs.setdefault(m, [0, 0])[c > 0] += 1
    name = min(signs, key=lambda m: (signs[m][0] * signs[m][1], m))
    lower = [p for p in above if p.get(name, 0) > 0]
    upper = [p for p in above if p.get(name, 0) < 0]
    inequalities = [p for p in above if not p.get(name, 0)]
    if len(inequalities) + len(lower) * len(upper) > _MOST_INEQUALITIES:
        return None
    for low, high in itertools.product(lower, upper):
        a, b = -high[name], low[name]
        one = {m: a * c for m, c in low.items()}
        for m, c in high.items():
            one[m] = one.get(m, 0) + b * c
        inequalities.append({m: c for m, c in one.items() if c})
    return inequalities
