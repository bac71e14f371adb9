"""Sizes of all classes that conditions tell apart: remainders, and the two sides of a bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]

from onnxwright.exporter.capture.assumptions.excluded import Range
from onnxwright.exporter.capture.assumptions.size_functions import value_of
from onnxwright.exporter.capture.assumptions.turning_points import (
    moduli_of,
    period_of,
    tried_classes,
    tried_near,
)

Sizes = dict[str, int]

# How many sizes of one symbol are compared, and how many where conditions turn; how many are
# compared in all, and how many are looked through.
_OF_ONE, _TURNING, _IN_ALL, _LOOKED_AT = 16, 12, 40, 20_000
# Modules are not run at larger sizes, unless the example is half as large.
_LARGEST = 4_096
_CLOSE = 12
# The longest period of remainders by which sizes are raised.
_LONGEST = 1024


def holds(condition: Any, sizes: Mapping[str, int]) -> bool | None:
    """Whether a condition holds at sizes; None where it has no answer."""
    found = value_of(condition, sizes)
    return None if found is None else bool(found)


def fitting(
    conditions: Sequence[Any], now: Mapping[str, int], ranges: Mapping[str, Range]
) -> Sizes | None:
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
    found = next(_looked_through(conditions, now, ranges), None)
    return None if found is None else found[0]


def may_fit(conditions: Sequence[Any], now: Mapping[str, int], ranges: Mapping[str, Range]) -> bool:
    """Whether there may be sizes at which all conditions hold.

    Args:
        conditions, now, ranges: as for `fitting`.
    """
    return next(_looked_through(conditions, now, ranges), None) is not None


def _looked_through(
    conditions: Sequence[Any], now: Mapping[str, int], ranges: Mapping[str, Range]
) -> Iterator[tuple[Sizes | None]]:
    """Sizes at which all conditions hold; None at the end if some were not looked at."""
    involved = sorted({str(s) for c in conditions for s in c.free_symbols})
    if any(s not in now for s in involved):
        return
    near = _near(conditions)

    def possible(symbol: str) -> list[int]:
        size = now[symbol]
        turning = tried_classes(conditions, symbol, now)
        # Near the example, and not less: torch takes a size of 1 for no size.
        close = (*range(size, size + _CLOSE), *range(size - 1, max(size - _CLOSE, 1), -1))
        found = dict.fromkeys((*close, *near, *turning))
        return [n for n in found if _is_in(n, ranges.get(symbol))]

    options = [possible(s) for s in involved]
    for chosen in itertools.islice(itertools.product(*options), _LOOKED_AT):
        sizes = {**now, **dict(zip(involved, chosen, strict=True))}
        if all(holds(c, sizes) for c in conditions):
            yield (sizes,)
    if math.prod(map(len, options)) > _LOOKED_AT:
        yield (None,)


def to_compare(
    conditions: Sequence[Any], now: Mapping[str, int], ranges: Mapping[str, Range]
) -> Iterator[Sizes]:
    """Sizes of all classes that matter to conditions.

    Args:
        conditions, now, ranges: as for `fitting`.

    Yields:
        Symbol -> size: each size alone, then all of them together, then one for each side of each
        condition.
    """
    involved = sorted({str(s) for c in conditions for s in c.free_symbols} & set(now))
    lists = {
        s: _classes([c for c in conditions if s in map(str, c.free_symbols)], s, now, ranges)
        for s in involved
    }
    every: list[Sizes] = [dict(now)]
    every += [{**now, s: n} for s, found in lists.items() for n in found]
    if len(involved) > 1:
        longest = max(map(len, lists.values()), default=0)
        for place in range(longest):
            every.append({**now, **{s: f[(place * (k + 1)) % len(f)]
                                    for k, (s, f) in enumerate(lists.items()) if f}})  # fmt: skip
    for condition in conditions:
        for side in (condition, sympy.Not(condition)):
            found = fitting([side], now, ranges)
            if found is not None:
                every.insert(1, found)
    seen: list[Sizes] = []
    for sizes in every:
        if any(n > max(_LARGEST, 2 * now[s]) for s, n in sizes.items()):
            continue
        if sizes not in seen and len(seen) < _IN_ALL:
            seen.append(sizes)
            yield sizes


def raised(sizes: Mapping[str, int], conditions: Sequence[Any], now: Mapping[str, int]) -> Sizes:
    """Sizes of the same remainders that are not less than those of the example.

    Args:
        sizes, conditions, now: as for `fitting`.

    Example:
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> raised({"n": 3}, [sympy.Eq(n % 4, 0)], {"n": 10})
        {'n': 11}
    """
    period = math.lcm(1, *(period_of(c) for c in conditions))
    if period > _LONGEST:
        return dict(sizes)
    return {s: n + period * max(0, -(-(now[s] - n) // period)) for s, n in sizes.items()}


def _classes(
    conditions: Sequence[Any], symbol: str, now: Mapping[str, int], ranges: Mapping[str, Range]
) -> list[int]:
    """Sizes of one symbol: remainders of each modulus, and both sides of each turning point."""
    found: dict[int, None] = {}
    moduli = sorted({m for c in conditions for m in moduli_of(c)})
    for m in moduli:
        found.update(dict.fromkeys((m, m + 1, 2 * m - 1, 2 * m, m - 1, 2 * m + 1, 3 * m)))
    bounds = {abs(int(n)) for c in conditions for n in c.atoms(sympy.Integer)} - set(moduli)
    for bound in sorted(bounds):
        found.update(dict.fromkeys((bound, bound + 1, bound - 1, 2 * bound + 1)))
    found.update(dict.fromkeys((2, 5, 1)))
    chosen = [n for n in found if n >= 1 and _is_in(n, ranges.get(symbol))][:_OF_ONE]
    turning = tried_near(conditions, symbol, now)
    chosen += [n for n in turning if _is_in(n, ranges.get(symbol))][:_TURNING]
    return list(dict.fromkeys(chosen))


def _near(conditions: Sequence[Any]) -> list[int]:
    """Sizes beside the constants of conditions, and multiples of them."""
    numbers = {abs(int(n)) for c in conditions for n in c.atoms(sympy.Integer)}
    numbers |= {m for c in conditions for m in moduli_of(c)}
    found = {k * n + d for n in numbers for k in (1, 2, 3) for d in (-1, 0, 1)}
    return [n for n in sorted(found) if 1 <= n <= 1 << 20]


def _is_in(size: int, declared: Range | None) -> bool:
    low, high = declared or (0, None)
    return size >= max(low, 1) and (high is None or size <= high)
