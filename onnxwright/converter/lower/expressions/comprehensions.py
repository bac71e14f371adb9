"""Comprehensions: Python evaluates them when compiling, in a scope of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.names import target_names
from onnxwright.converter.lower.expressions.items import items_of
from onnxwright.converter.lower.expressions.logic import static_truth
from onnxwright.converter.lower.frame import COMPREHENSION, Frame
from onnxwright.converter.lower.loops.iterables import DynamicTripCount, read_iterable
from onnxwright.converter.lower.loops.lowering import dynamic_for
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.run_time_lists import RunTimeList
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.binding import bind_target
from onnxwright.converter.lower.values import is_dynamic


def evaluate_comprehension(low: Lowering, node: hir.Comprehension) -> Any:
    """A comprehension: its elements, as the container it makes."""
    first = read_iterable(low, node.clauses[0].iterable)
    looped = isinstance(first, DynamicTripCount) and not isinstance(first.count, int)
    if looped and node.kind not in ("set", "dict"):
        return _as_loop(low, node, first)
    if isinstance(first, DynamicTripCount) and isinstance(first.count, int):
        first = [first.item(n) for n in range(first.count)]
    pairs: list[tuple[Any, Any]] = []
    bound = frozenset(n for clause in node.clauses for n in target_names(clause.target))
    # A scope of its own, as in Python: functions made in it see its variables.
    outer = low.frame
    low.frame = Frame(COMPREHENSION, bound, outer)
    try:
        _clauses(low, node, 0, pairs, first)
    finally:
        low.frame = outer
    if node.kind == "dict":
        return low.regions.own(dict(pairs))
    items = [element for element, _ in pairs]
    result = low.python(node.span, set, items) if node.kind == "set" else items
    return low.regions.own(result)


def _clauses(
    low: Lowering,
    node: hir.Comprehension,
    depth: int,
    pairs: list[tuple[Any, Any]],
    first: Any = None,
) -> None:
    if depth == len(node.clauses):
        element = low.evaluate(node.element)
        pairs.append((element, None if node.value is None else low.evaluate(node.value)))
        return
    clause = node.clauses[depth]
    iterable = low.evaluate(clause.iterable) if depth else first
    for item in items_of(low, iterable, clause.iterable.span):
        bind_target(low, clause.target, item)
        keep = True
        for test in clause.tests:
            value = low.evaluate(test)
            if is_dynamic(value):
                low.needed_now("the `if` of a comprehension", test.span)
            keep = keep and static_truth(value)
        if keep:
            _clauses(low, node, depth + 1, pairs)


_ITEMS = f"{hir.INTERNAL}items"


def _as_loop(low: Lowering, node: hir.Comprehension, trips: DynamicTripCount) -> Any:
    """A list comprehension over what the model decides: a loop that appends."""
    span = node.span
    holder = hir.Name(span, _ITEMS)
    appended = hir.Call(
        span, hir.Attribute(span, holder, f"{hir.INTERNAL}append"), (node.element,), ()
    )
    body: hir.Block = (hir.Assign(span, (hir.NameTarget(span, _ITEMS),), appended),)
    kept = (_ITEMS,)
    for depth, clause in reversed(list(enumerate(node.clauses))):
        for test in reversed(clause.tests):
            body = (hir.If(span, test, body, (), live_out=kept),)
        loop = hir.For(span, clause.target, clause.iterable, body, carried=kept, live_out=kept)
        body = (loop,) if depth else body
    bound = frozenset(n for clause in node.clauses for n in target_names(clause.target))
    outer = low.frame
    low.frame = Frame(COMPREHENSION, bound | {_ITEMS}, outer)
    low.frame.env[_ITEMS] = low.regions.own([])
    try:
        dynamic_for(low, loop, trips, Region("this comprehension", span))
        iterated = low.frame.lookup(_ITEMS, span)
    finally:
        low.frame = outer
    return replace(iterated, name="this list") if isinstance(iterated, RunTimeList) else iterated
