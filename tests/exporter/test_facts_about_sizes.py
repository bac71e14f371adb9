"""A verdict on a condition on sizes is a proof: compared with the sizes themselves."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
import sympy  # type: ignore[import-untyped]
from torch.utils._sympy.functions import CeilToInt, FloorDiv, IntTrueDiv, Max, Min, PythonMod

from onnxwright.exporter.capture.assumptions.examples import value_of
from onnxwright.exporter.capture.assumptions.facts import Facts
from onnxwright.exporter.capture.assumptions.polynomials import Range
from tests.harness.tables import each

n, m, b = (sympy.Symbol(name, integer=True, positive=True) for name in "nmb")
z = sympy.Symbol("z", integer=True)
_RELATIONS = (sympy.Eq, sympy.Ne, sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt)


def drawn_number(draw: random.Random, symbols: list[Any], depth: int) -> Any:
    """A number that follows from sizes."""
    if not depth or draw.random() < 0.15:
        return draw.choice(symbols) if draw.random() < 0.75 else sympy.Integer(draw.randint(0, 12))
    one, other = (drawn_number(draw, symbols, depth - 1) for _ in range(2))
    constant = sympy.Integer(draw.randint(1, 9))
    kinds = (
        lambda: one + other, lambda: one - other, lambda: draw.randint(-3, 5) * one,
        lambda: one * other, lambda: FloorDiv(one, constant), lambda: PythonMod(one, constant),
        lambda: Max(one, other), lambda: Min(one, other),
        lambda: CeilToInt(IntTrueDiv(one, constant)), lambda: FloorDiv(one, draw.choice(symbols)),
        lambda: FloorDiv(one + constant - 1, constant) * constant,
    )  # fmt: skip
    return draw.choice(kinds)()


def drawn_condition(draw: random.Random, symbols: list[Any]) -> Any:
    """A comparison, or two."""

    def compared() -> Any:
        sides = (drawn_number(draw, symbols, 2) for _ in range(2))
        return draw.choice(_RELATIONS)(*sides)

    one = compared()
    return draw.choice((sympy.And, sympy.Or))(one, compared()) if draw.random() < 0.2 else one


def drawn_facts(draw: random.Random, symbols: list[Any]) -> Facts:
    """Ranges of some sizes, with and without an upper bound, and a condition or none."""
    ranges: dict[str, Range] = {}
    for symbol in symbols:
        low, width = draw.randint(0, 9), draw.randint(0, 20)
        if draw.random() < 0.4:
            ranges[str(symbol)] = low, draw.choice((None, low + width))
    known = (drawn_condition(draw, symbols),) if draw.random() < 0.5 else ()
    return Facts(known, least=draw.randint(0, 2)).within(ranges)


def sizes_within(facts: Facts, symbols: list[Any]) -> Iterator[dict[str, int]]:
    """Sizes at which facts hold."""
    tried = []
    for symbol in symbols:
        low, high = dict(facts.ranges).get(str(symbol), (0, None))
        low, most = max(low, facts.least), (120, 20, 8)[len(symbols) - 1]
        tried.append(range(low, low + most if high is None else min(high, low + most) + 1))
    for values in itertools.product(*tried):
        sizes = {str(s): v for s, v in zip(symbols, values, strict=True)}
        if all(value_of(one, sizes) is True for one in facts.conditions):
            yield sizes


def check_verdicts(seeds: range) -> int:
    """Compare verdicts with the sizes; how many there were."""
    count = 0
    for seed in seeds:
        draw = random.Random(seed)
        symbols = draw.choice(([n], [n, m], [n, m, b]))
        try:
            condition, facts = drawn_condition(draw, symbols), drawn_facts(draw, symbols)
        except ZeroDivisionError:
            continue
        verdict = facts.verdict(condition)
        if verdict is not None:
            count += 1
            for sizes in sizes_within(facts, symbols):
                found = value_of(condition, sizes)
                assert found is None or bool(found) is verdict, (seed, condition, facts, sizes)
    return count


def test_verdicts_hold_at_all_sizes() -> None:
    assert check_verdicts(range(120)) > 30


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 4000, 500))
def test_more_verdicts_hold_at_all_sizes(first: int) -> None:
    assert check_verdicts(range(first, first + 500)) > 150


_PADDED = n + PythonMod(-n, 4)
PROVEN: tuple[tuple[Any, tuple[Any, ...], bool | None], ...] = (
    (sympy.Eq(PythonMod(_PADDED, 4), 0), (), True),
    (sympy.Eq(FloorDiv(_PADDED, 4) * 4 * b, _PADDED * b), (), True),
    (sympy.Eq(b * n, 4 * b * FloorDiv(n, 4)), (sympy.Eq(PythonMod(n, 4), 0),), True),
    (sympy.Eq(b * n, 4 * b * FloorDiv(n, 4)), (), None),
    (sympy.Eq(PythonMod(2 * n * b, 8 * b), 0), (sympy.Eq(PythonMod(n, 4), 0),), True),
    (n * m >= n, (), True),
    (n * m > n, (m > 1,), True),
    (n * m > n, (), None),
    (FloorDiv(n, m) <= n, (), True),
    (sympy.Ne(PythonMod(6 * n + 4 * m, 10), 5), (), True),
    (sympy.Ne(n, m), (n < m,), True),
    (sympy.Eq(n, 7), (n > 6, n < 8), True),
    (sympy.Eq(PythonMod(n, 6), 3), (sympy.Eq(PythonMod(n, 2), 1), sympy.Eq(PythonMod(n, 3), 0)),
     True),
    (sympy.Ne(PythonMod(n, 4), 1), (sympy.Eq(PythonMod(n, 2), 0),), True),
    (n <= (1 << 63) - 1, (), True),
    (n <= (1 << 62), (), None),
    # In floats, `n / 49 * 49` is not `n`, and a sum of two such quotients may not be a whole one.
    (sympy.Eq(49 * IntTrueDiv(n, sympy.Integer(49)), n), (), None),
    (sympy.Eq(CeilToInt(IntTrueDiv(n, sympy.Integer(49))), FloorDiv(n + 48, 49)), (), True),
    (n > 8, (n < 4,), False),
    # A number that is not a size may be below 0.
    (z >= 0, (), None), (Max(z, 0) >= 0, (), True),
)  # fmt: skip


@each(("condition", "known", "verdict"), PROVEN)
def test_what_is_proven(condition: Any, known: tuple[Any, ...], verdict: bool | None) -> None:
    assert Facts(known).verdict(condition) is verdict
    assert Facts(known).verdict(sympy.Not(condition)) is (None if verdict is None else not verdict)
