"""Decisions by sizes that a program has both sides of, for the report and for `verify`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onnxwright.exporter.capture.assumptions.guard_text import guard_text, named_sums
from onnxwright.exporter.capture.assumptions.guards import Place, Sizes

_ONE_SIDE, _BOTH = "one side, proven right at all sizes", "both sides, in an If"


@dataclass(frozen=True)
class SizeDecision:
    """A decision by sizes that is exported for both of its sides.

    Fields:
        file, line: where the user's code decides.
        condition: of torch's symbols; it holds on the side that is exported for all sizes.
        both: whether both sides are in an If, as none of them is right at all sizes.
        sizes: sizes of both sides, by the names of torch's symbols.
    """

    file: str
    line: int
    condition: Any
    both: bool
    sizes: tuple[Mapping[str, int], ...]


@dataclass(frozen=True)
class CoveredDecision:
    """A decision by sizes that needs no guard.

    Fields:
        file, line: where the user's code decides.
        text: the condition of the side that was captured.
        how: what the program has for it.
    """

    file: str
    line: int
    text: str
    how: str


def covered(decisions: Iterable[SizeDecision], sizes: Sizes) -> list[CoveredDecision]:
    """The decisions as the report shows them, each once, with the names of sizes."""
    return list(dict.fromkeys(
        CoveredDecision(one.file, one.line, guard_text(one.condition, sizes.names),
                        _BOTH if one.both else _ONE_SIDE)
        for one in decisions
    ))  # fmt: skip


def examples_of(decisions: Iterable[SizeDecision], sizes: Sizes) -> tuple[Mapping[Place, int], ...]:
    """Sizes of both sides of decisions, by place among the inputs.

    Args:
        decisions: the decisions of a capture.
        sizes: the places of its sizes.

    Returns:
        Each once; those that the program is not right for are left out.
    """
    examples: list[dict[Place, int]] = []
    for side_sizes in (one_side for one in decisions for one_side in one.sizes):
        by_place = {p: side_sizes[s] for p, s in sizes.places.items() if s in side_sizes}
        input_sizes = {s: side_sizes[s] for s in sizes.places.values() if s in side_sizes}
        if by_place and by_place not in examples and _is_right_for(sizes, input_sizes):
            examples.append(by_place)
    return tuple(examples)


def _is_right_for(sizes: Sizes, size_by_symbol: Mapping[str, int]) -> bool:
    """Whether a program is right for sizes, and those named as sums are these sums."""
    named = {sizes.names.get(symbol, symbol): size for symbol, size in size_by_symbol.items()}
    sums = named_sums(named)
    return not sizes.violation(size_by_symbol) and all(named[n] == size for n, size in sums.items())
