"""Decisions by sizes at which a capture ends: it has one side of them, and a user may need both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.assumptions.demands import refuses_others
from onnxwright.exporter.capture.assumptions.excluded import (
    Range,
    excludes_larger,
    excludes_small,
)
from onnxwright.exporter.capture.assumptions.guards import SizeGuard
from onnxwright.exporter.places import line_of


class OneSideError(BaseException):
    """A capture that can have one side of a decision only has come to the decision.

    An `except Exception` of the program that is captured does not stop it.

    Args:
        decision: of Python.
    """

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"`{decision.expression}` is decided in {decision.file}:{decision.line}")
        self.decision = decision


def has_one_side(decision: Decision, known: Mapping[Any, Any]) -> bool:
    """Whether a capture that goes on after a decision is right for a part of the sizes only.

    Nothing is said of conditions on several sizes: the names of the user may say that these are
    equal.

    Args:
        decision: what Python asked.
        known: torch's symbols -> their ranges before it.
    """
    expression = decision.expression
    symbols: Any = getattr(expression, "free_symbols", ())
    if len(symbols) != 1 or free_unbacked_symbols(expression):
        return False
    if decision.demand or decision.by_operator or not decision.file:
        return False
    (symbol,) = symbols
    ranges = {str(symbol): _range(known.get(symbol))}
    guard = SizeGuard(expression, "", None)
    if not excludes_larger(guard, ranges, ()) and not excludes_small(guard, ranges, ()):
        return False
    places = [(decision.file, decision.line), *([decision.asked] if decision.asked else [])]
    return not any(refuses_others(line_of(*place)) for place in places)


def _range(known: Any) -> Range:
    """Torch's range of a size; its lower bound of 2 means none."""
    if known is None:
        return 0, None
    low = int(known.lower) if known.lower.is_Integer else 0
    high = int(known.upper) if known.upper.is_Integer and known.upper < 2**62 else None
    return (low if low > 2 else 0), high
