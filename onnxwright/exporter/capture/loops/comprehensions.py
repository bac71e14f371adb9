"""`[f(x) for x in items]`, `(f(x) for x in items)` and `items.extend(others)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from onnxwright.exporter.capture.control.lists import List
from onnxwright.exporter.capture.control.runtime import noted
from onnxwright.exporter.capture.decisions.deciding import if_
from onnxwright.exporter.capture.decisions.sides import places_of, side_of
from onnxwright.exporter.capture.decisions.state import UNSET, State
from onnxwright.exporter.capture.decisions.truth import decided
from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.lists.list_writes import written
from onnxwright.exporter.capture.lists.rows import Rows
from onnxwright.exporter.capture.loops import ranges
from onnxwright.exporter.capture.loops.iterators import LazyIterator, refuse_left, taken
from onnxwright.exporter.capture.loops.loops import for_
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.one_of import settled


def listed(items: Any, item: Callable[[Any], Any], when: Callable[[Any], Any] | None = None) -> Any:
    """`[item(x) for x in items if when(x)]`."""
    if current() is None or tracer() is None:
        return List(item(x) for x in items if when is None or when(x))
    items = taken(items)
    if when is None and ranges.counted(items) is None:
        return List(item(x) for x in items)
    made, box = List(), [UNSET]

    def state() -> State:
        return State((), (), (), lambda _: None)

    def add() -> None:
        noted(made).append(settled(item(box[0])))

    def body() -> None:
        if when is None:
            add()
        else:
            if_(when(box[0]), add, lambda: None, state())

    def take(x: Any) -> None:
        box[0] = x

    for_(items, take, body, None, state())
    return made


def extend(items: Any, others: Any) -> Any:
    """`items.extend(others)`; gives the list."""
    others = taken(others)
    if isinstance(others, ranges.Counted):
        others = listed(others, ranges.same)
    if isinstance(others, Rows) and not isinstance(items, Rows):
        written(items, others.after(items))
    else:
        noted(items).extend(others)
    return items


def generated(
    items: Any, item: Callable[[Any], Any], when: Callable[[Any], Any] | None = None
) -> Any:
    """`(item(x) for x in items if when(x))`."""
    if current() is not None and tracer() is not None:
        refuse_left(items)
        if ranges.is_counted(items):
            return LazyIterator("generator", functools.partial(_generated_rows, items, item, when))
        if when is not None and (hasattr(items, "__len__") or type(items) in ranges.ITERATORS):
            items = list(items)
            if any(decided(when(x)) is None for x in items):
                return LazyIterator(
                    "generator", functools.partial(_generated_rows, items, item, when)
                )
    return (item(x) for x in items if when is None or when(x))


def _generated_rows(
    items: Any, item: Callable[[Any], Any], when: Callable[[Any], Any] | None
) -> Any:
    """All that a generator gives, and whether that changes something else."""
    with side_of(item, when) as side:
        made = listed(items, item, when)
        side.keep()
    if isinstance(made, Rows):
        made.changes_others = bool(places_of(side))
    return made
