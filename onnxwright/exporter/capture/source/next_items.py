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
    """`next(items, default)`: of items whose number is known at run time only, the first."""
    refuse_left(items)
    if not isinstance(items, LazyIterator):
        note_taken(items)
        return bound(next)(items, *default)
    every = items.take(whole=False)
    if isinstance(every, Rows):
        every.check_order("next")
    found = ranges.counted(every)
    if found is None:
        return next(iter(every), *default)
    if default:
        return choose(found.length > 0, functools.partial(found.at, 0), lambda: default[0])
    if not found.is_sized:  # PyTorch takes the sizes of inputs for 1 or more
        refuse_handled(StopIteration())
    return found.at(0)
