"""Conditions that hold at all sizes that the user declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]

from onnxwright.exporter.capture.assumptions.excluded import Range
from onnxwright.exporter.capture.assumptions.guard_text import by_names, holds_within
from onnxwright.exporter.capture.assumptions.proving import Prover


def is_certain(expression: Any, names: Mapping[str, str], ranges: Mapping[str, Range]) -> bool:
    """Whether a condition holds at all sizes that calls may have, by names and declared ranges."""
    by_name: dict[str, Range] = {}
    for symbol, (low, high) in ranges.items():
        before = by_name.get(names.get(symbol, symbol), (0, None))
        highs = [h for h in (before[1], high) if h is not None]
        by_name[names.get(symbol, symbol)] = max(low, before[0]), min(highs, default=None)
    return holds_within(by_names(expression, names), by_name) or _is_proven(expression, ranges)


def _is_proven(expression: Any, ranges: Mapping[str, Range]) -> bool:
    """Whether a condition is proven for all sizes of the declared ranges, none of which is 0."""
    bounds: list[Any] = []
    for symbol in expression.free_symbols:
        low, high = ranges.get(str(symbol), (0, None))
        if low < 1:
            return False
        bounds += [symbol >= low] if high is None else [symbol >= low, symbol <= high]
    return Prover().holds_where(expression, sympy.And(*bounds))
