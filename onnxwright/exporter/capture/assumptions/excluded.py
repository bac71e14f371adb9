"""Whether conditions on sizes exclude sizes: they do where nothing else is proven."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]

from onnxwright.exporter.capture.assumptions.guard_text import by_names
from onnxwright.exporter.capture.assumptions.proving import Prover, by_bounds, of_one_row

Range = tuple[int, "int | None"]


def excludes_small(guard: Any, ranges: Mapping[str, Range], others: Sequence[Any]) -> bool:
    """Whether a condition excludes a size of 0 or 1 that nothing else excludes.

    Args:
        guard: a `SizeGuard`.
        ranges: symbol -> the declared range of the size.
        others: conditions that have to hold, too.
    """
    return any(
        size >= ranges.get(symbol, (0, None))[0]
        and not guard.holds({symbol: size})
        and all(other.holds({symbol: size}) for other in others)
        for symbol in map(str, guard.expression.free_symbols)
        for size in (0, 1)
    )


def excludes_larger(guard: Any, ranges: Mapping[str, Range], others: Sequence[Any]) -> bool:
    """Whether a condition excludes sizes from 2 on that nothing else excludes.

    Torch narrows the range of a size where its own operators decide by it: after `x[-7:]` of 5 rows
    it takes the size for 7 or less, and answers `x.shape[0] > 8` without a guard.

    Args:
        guard: the condition.
        ranges: symbol -> the declared range of the size.
        others: conditions that have to hold, too.
    """
    condition = guard.expression
    known = [o.expression for o in others if o.expression.free_symbols & condition.free_symbols]
    for rest in ([], *([one] for one in known), known):
        symbols = condition.free_symbols.union(*(one.free_symbols for one in rest))
        bounds = [_within(s, ranges.get(str(s), (0, None)), 2) for s in symbols]
        if _is_proven(condition, sympy.And(*bounds, *rest)):
            return False
    return True


def is_certain(expression: Any, names: Mapping[str, str], ranges: Mapping[str, Range]) -> bool:
    """Whether a condition holds at all sizes that calls may have, by names and declared ranges.

    Args:
        expression: a sympy expression of torch's symbols.
        names: torch's symbol -> name.
        ranges: torch's symbol -> the declared range.
    """
    condition = by_names(expression, names)
    by_name: dict[str, Range] = {}
    for symbol, (low, high) in ranges.items():
        name = names.get(symbol, symbol)
        before = by_name.get(name, (0, None))
        highs = [h for h in (before[1], high) if h is not None]
        by_name[name] = max(low, before[0]), min(highs, default=None)
    if condition == sympy.true or by_bounds(condition, by_name) == sympy.true:
        return True
    declared = [(s, by_name.get(str(s), (0, None))) for s in condition.free_symbols]
    bounds = [_within(s, one, 1) for s, one in declared]
    return all(low >= 1 for _, (low, _) in declared) and _is_proven(condition, sympy.And(*bounds))


def _within(symbol: Any, declared: Range, least: int) -> Any:
    low, high = declared
    above = symbol >= max(low, least)
    return above if high is None else sympy.And(above, symbol <= high)


@functools.lru_cache(maxsize=1 << 14)
def _is_proven(condition: Any, where: Any) -> bool:
    return Prover().holds_where(condition, where)


def is_multiple(demand: Any) -> bool:
    """Whether a size has to be a multiple; on the other side of a decision it may be padded.

    Args:
        demand: what an operator of torch demands.
    """
    expression = of_one_row(demand.expression)
    parts = sympy.preorder_traversal(expression)
    divided = any(type(p).__name__ in ("FloorDiv", "Mod", "PythonMod", "CleanDiv") for p in parts)
    return divided and len(expression.free_symbols) == 1
