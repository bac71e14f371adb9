"""`any` and `all`: each item is evaluated, until one is known to settle the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from onnxwright.exporter.capture.decisions.sides import side_of
from onnxwright.exporter.capture.decisions.size_tests import as_test, is_open
from onnxwright.exporter.capture.decisions.truth import as_truth, decided
from onnxwright.exporter.capture.lists.list_writes import refuse_effects
from onnxwright.exporter.capture.lists.rows import Rows


def any_(values: Iterable[Any]) -> Any:
    """`any(values)`."""
    if isinstance(values, Rows):
        values.check_order("any")
        return (values.whole("any") != 0).any()
    return _joined(values, torch.logical_or, settles=True)


def all_(values: Iterable[Any]) -> Any:
    """`all(values)`."""
    if isinstance(values, Rows):
        values.check_order("all")
        return (values.whole("all") != 0).all()
    return _joined(values, torch.logical_and, settles=False)


def _joined(values: Iterable[Any], join: Callable[[Any, Any], Any], *, settles: bool) -> Any:
    """Truths joined, until one of them is known to settle the result."""
    result: Any = None
    items = iter(values)
    is_container = isinstance(values, (list, tuple, set, frozenset, dict))
    while True:
        if result is None or is_container:
            value = next(items, _END)
        else:
            with side_of(values) as side:
                value = next(items, _END)
                side.keep()
            if any(write.place.owner is not values for write in side.writes):
                # Python does not come to it where an item before settles the result.
                refuse_effects("any" if settles else "all")
        if value is _END:
            return not settles if result is None else result
        value = as_test(value)
        is_of_sizes = isinstance(value, torch.SymBool) and is_open(value)
        answer = None if is_of_sizes else decided(value)
        if answer is settles:
            return settles
        if answer is None:
            truth = as_truth(value)
            result = truth if result is None else join(result, truth)


_END = object()
