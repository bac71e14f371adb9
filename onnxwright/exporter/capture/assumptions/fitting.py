"""Sizes at which conditions hold: examples of one side of a decision."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]

from onnxwright.exporter.capture.assumptions.excluded import Range
from onnxwright.exporter.capture.assumptions.size_functions import value_of
from onnxwright.exporter.capture.assumptions.turning_points import moduli_of, tried_classes

# How many combinations of sizes are looked through.
_LOOKED_AT = 20_000
_CLOSE = 12


def holds(condition: Any, sizes: Mapping[str, int]) -> bool | None:
    """Whether a condition holds at sizes; None where it has no answer."""
    found = value_of(condition, sizes)
    return None if found is None else bool(found)


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
        if all(holds(c, sizes) for c in conditions):
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
