"""Slices around the counter of a loop: `x[n : n + 1]` has one row.

Read one by one, its two bounds would be numbers that have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.graphs.memory import node_of
from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.loops.ranges import Counted
from onnxwright.exporter.capture.session.session import Session, current

_aten = torch.ops.aten


@contextmanager
def counting(count: Any, items: Counted) -> Iterator[None]:
    """In this context, a tensor is known as the counter of a loop."""
    session, node = current(), node_of(tracer(), count)
    unknown = any(isinstance(end, torch.Tensor) for end in (items.start, items.stop))
    if session is None or node is None or items.step != 1 or unknown:
        yield
        return
    session.counters[node] = (count, items)
    try:
        yield
    finally:
        del session.counters[node]


def window(start: Any, stop: Any) -> tuple[Any, Any] | None:
    """The bounds of a slice that follow from the counter of a loop by adding numbers of Python.

    Args:
        start, stop: the bounds.

    Returns:
        Them as numbers that are read at run time, of which it is known that the counter is in the
        range of the loop; None if the bounds are others.
    """
    session = current()
    if session is None or not session.counters:
        return None
    first, last = _offset(start, session), _offset(stop, session)
    if first is None or last is None or first[0] is not last[0]:
        return None
    count, items = session.counters[first[0]]
    number = count.item()
    torch._check(number >= items.start)
    torch._check(number < items.stop)
    return number + first[1], number + last[1]


def _offset(bound: Any, session: Session) -> tuple[fx.Node, int] | None:
    """The counter that a bound is made of by adding a number, and the number."""
    if not isinstance(bound, torch.Tensor) or bound.ndim:
        return None
    node, offset = node_of(tracer(), bound), 0
    while node is not None and node not in session.counters:
        added = _added(node)
        if added is None:
            return None
        node, offset = added[0], offset + added[1]
    return None if node is None else (node, offset)


def _added(node: fx.Node) -> tuple[fx.Node, int] | None:
    """What a number of Python is added to, and the number."""
    sign = {_aten.add.Tensor: 1, _aten.sub.Tensor: -1}.get(node.target)
    if sign is None or node.kwargs or len(node.args) != 2:
        return None
    left, right = node.args
    if isinstance(left, int) and sign > 0:
        left, right = right, left
    if not isinstance(left, fx.Node) or type(right) is not int:
        return None
    return left, sign * right
