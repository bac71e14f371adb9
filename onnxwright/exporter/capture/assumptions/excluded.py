"""Whether a condition on sizes excludes sizes that nothing else excludes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from onnxwright.exporter.capture.assumptions.turning_points import tried_classes, tried_near

Range = tuple[int, "int | None"]

# How many combinations of sizes are tried for one condition.
_TRIED = 1_000


class Condition(Protocol):
    """A condition on sizes, such as a guard of torch."""

    @property
    def expression(self) -> Any:
        """The condition over torch's symbols."""
        ...

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it holds for sizes, by torch's symbols."""
        ...

    def numbers(self) -> list[int]:
        """The integers in the condition."""
        ...


def excludes_small(
    guard: Condition, ranges: Mapping[str, Range], others: Sequence[Condition]
) -> bool:
    """Whether a condition excludes a size of 0 or 1 that nothing else excludes.

    Args:
        guard: the condition.
        ranges: symbol -> the declared range of the size.
        others: conditions that have to hold, too.
    """
    for symbol in map(str, guard.expression.free_symbols):
        for size in (0, 1):
            given = {symbol: size}
            if size >= ranges.get(symbol, (0, None))[0] and not guard.holds(given):
                if all(other.holds(given) for other in others):
                    return True
    return False


def excludes_larger(
    guard: Condition, ranges: Mapping[str, Range], others: Sequence[Condition]
) -> bool:
    """Whether a condition excludes sizes from 2 on that nothing else excludes.

    Torch narrows the range of a size where its own operators decide by it: after `x[-7:]` of 5 rows
    it takes the size for 7 or less, and answers `x.shape[0] > 8` without a guard.

    Args:
        guard: the condition.
        ranges: symbol -> the declared range of the size.
        others: conditions that have to hold, too.

    Returns:
        Whether one of the sizes near the numbers of the condition is excluded.
    """
    return any(
        not guard.holds(sizes) and all(other.holds(sizes) for other in others)
        for sizes in _near(guard, ranges, others)
    )


def _near(
    guard: Condition, ranges: Mapping[str, Range], others: Sequence[Condition]
) -> Iterator[dict[str, int]]:
    """Sizes near the numbers of conditions and where these turn, within the declared ranges."""
    symbols = sorted(map(str, guard.expression.free_symbols))
    conditions = (guard, *others)
    close = {abs(n) + d for c in conditions for n in c.numbers() for d in (-1, 0, 1, 2)}
    numbers = sorted({2, 3, 1 << 12, *close})

    def possible(symbol: str) -> list[int]:
        low, high = ranges.get(symbol, (0, None))
        own = tried_near([guard.expression], symbol)
        turning = tried_classes([c.expression for c in conditions], symbol)
        found = [*own, *numbers, *turning]
        ends = [low, *([] if high is None else [high])]
        return [
            n for n in dict.fromkeys((*found, *ends))
            if n >= max(low, 2) and (high is None or n <= high)
        ]  # fmt: skip

    options = list(map(possible, symbols))
    every = dict.fromkeys(n for found in options for n in found)
    equal = ((n,) * len(symbols) for n in every if all(n in found for found in options))
    combined = itertools.chain(equal, itertools.product(*options))
    for sizes in itertools.islice(combined, _TRIED):
        yield dict(zip(symbols, sizes, strict=True))
