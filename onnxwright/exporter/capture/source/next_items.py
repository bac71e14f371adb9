"""`iter(...)` and `next(...)`."""

from __future__ import annotations

import functools
from typing import Any

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.iterators import made_here
from onnxwright.exporter.capture.source import ranges
from onnxwright.exporter.capture.source.deciding import choose
from onnxwright.exporter.capture.source.iterators import LazyIterator, note_taken, refuse_left
from onnxwright.exporter.capture.source.raising import refuse_handled
from onnxwright.exporter.capture.source.rows import Rows


def iter_(items: Any, *rest: Any) -> Any:
    """`iter(...)`."""
    if isinstance(items, LazyIterator):
        return items
    if not rest and (isinstance(items, Rows) or ranges.is_counted(items)):
        return LazyIterator("iterator", lambda: items)
    return made_here(iter(items, *rest) if rest else bound(iter)(items))


def next_(items: Any, *default: Any) -> Any:
    """`next(items, default)`, of items whose number is known at run time only as well."""
    refuse_left(items)
    if not isinstance(items, LazyIterator):
        note_taken(items)
        return bound(next)(items, *default)
    if items.has_ended:
        return next(iter(()), *default)
    every, place = items.items(), items.place
    found = ranges.counted(every)
    if isinstance(every, Rows):
        every.check_order("next")
    if found is None or (found.most is not None and place >= found.most):
        items.move(place + 1)
        return next(iter(() if found is not None else every[place:]), *default)
    one = functools.partial(found.at, place)
    if not default:
        # PyTorch takes the sizes of inputs for 1 or more.
        if not found.is_sized or place:
            refuse_handled(StopIteration())
        items.move(place + 1)
        return one()
    items.move(place + 1)
    return choose(place < found.length, one, lambda: default[0])
