"""Comprehensions: Python evaluates them when compiling, in a scope of their own."""

from __future__ import annotations

from typing import Any

from onnxwright.converter import hir
from onnxwright.converter.analyze.names import target_names
from onnxwright.converter.binding import bind_target
from onnxwright.converter.frame import COMPREHENSION, Frame
from onnxwright.converter.items import items_of
from onnxwright.converter.logic import static_truth
from onnxwright.converter.state import Lowering
from onnxwright.converter.values import (
    is_dynamic,
)


def evaluate_comprehension(low: Lowering, node: hir.Comprehension) -> Any:
    """A comprehension: its elements, as the container it makes."""
    pairs: list[tuple[Any, Any]] = []
    bound = frozenset(n for clause in node.clauses for n in target_names(clause.target))
    # A scope of its own, as in Python: functions made in it see its variables.
    outer = low.frame
    low.frame = Frame(COMPREHENSION, bound, outer)
    try:
        _clauses(low, node, 0, pairs)
    finally:
        low.frame = outer
    if node.kind == "dict":
        return low.regions.own(dict(pairs))
    items = [element for element, _ in pairs]
    made = low.python(node.span, set, items) if node.kind == "set" else items
    return low.regions.own(made)


def _clauses(
    low: Lowering, node: hir.Comprehension, depth: int, pairs: list[tuple[Any, Any]]
) -> None:
    if depth == len(node.clauses):
        element = low.evaluate(node.element)
        pairs.append((element, None if node.value is None else low.evaluate(node.value)))
        return
    clause = node.clauses[depth]
    for item in items_of(low, low.evaluate(clause.iterable), clause.iterable.span):
        bind_target(low, clause.target, item)
        keep = True
        for test in clause.tests:
            value = low.evaluate(test)
            if is_dynamic(value):
                low.needed_now("the `if` of a comprehension", test.span)
            keep = keep and static_truth(value)
        if keep:
            _clauses(low, node, depth + 1, pairs)
