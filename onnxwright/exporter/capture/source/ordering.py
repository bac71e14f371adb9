"""The order of values that are known at run time only: lists sorted by keys, and compared."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.items import item
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.run_time_lists import RunTimeList
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.unknown_numbers import (
    has_one_element,
    is_unknown,
    truth_tensor,
)

_LEAVES = (torch.Tensor, bool, int, float, *SYMBOLS)


def _is_leaf(value: Any) -> bool:
    """Whether a value is a number, or a tensor of one element."""
    if isinstance(value, torch.Tensor):
        return has_one_element(value)
    return isinstance(value, _LEAVES)


def _is_open(value: Any) -> bool:
    """Whether one is known at run time only."""
    return isinstance(value, (torch.Tensor, *SYMBOLS)) and is_unknown(value)


def order_of(keys: Sequence[Any], reverse: bool) -> torch.Tensor | None:
    """The places of keys in their order: that of Python, which leaves equal ones as they are.

    Args:
        keys: numbers, tensors of one element, or tuples of these.
        reverse: whether the greatest comes first.

    Returns:
        A tensor of places; None where Python knows the order, or keys are something else.
    """
    columns = _columns(keys)
    if not columns or not any(_is_open(value) for column in columns for value in column):
        return None
    order = torch.arange(len(keys))
    for column in reversed(columns):  # the first part of a key decides last
        values = _stacked(column).index_select(0, order)
        places = values.sort(stable=True, descending=reverse).indices
        order = order.index_select(0, places)
    return order


def _columns(keys: Sequence[Any]) -> list[tuple[Any, ...]] | None:
    """The parts of keys, each of all keys."""
    if not keys:
        return None
    if all(isinstance(key, tuple) for key in keys):
        if len({len(key) for key in keys}) > 1 or not all(_is_leaf(v) for k in keys for v in k):
            return None
        return list(zip(*keys))
    return [tuple(keys)] if all(map(_is_leaf, keys)) else None


def _stacked(values: Sequence[Any]) -> torch.Tensor:
    made = [v.reshape(()) if isinstance(v, torch.Tensor) else _scalar(v) for v in values]
    dtype = made[0].dtype
    for one in made[1:]:
        dtype = torch.promote_types(dtype, one.dtype)
    return torch.stack([one.to(dtype) for one in made])


def _scalar(value: Any) -> torch.Tensor:
    whole = isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool)
    return torch.scalar_tensor(value, dtype=torch.int64) if whole else torch.scalar_tensor(value)


def in_order(values: Sequence[Any], order: torch.Tensor) -> list[Any]:
    """The items of a list at places of run time."""
    session, items = current(), list(values)
    found = []
    for place in order.unbind(0):
        if session is not None:
            session.numbers.add(place)
        found.append(item(items, place))
    return found


def ordered(name: str, one: Any, other: Any) -> Any:
    """`one < other` and the like, of lists and tuples with values of run time as well.

    Args:
        name: the operator in Python's tree, such as "Lt".
        one, other: what is compared.
    """
    own: Callable[[Any, Any], Any] = _OPERATORS[name]
    if not isinstance(one, (list, tuple)) or type(one) is not type(other):
        return own(one, other)
    pairs = [] if isinstance(one, RunTimeList) else list(zip(one, other))
    session = current()
    if session is None or not all(_is_leaf(v) for pair in pairs for v in pair):
        return own(one, other)
    if not any(_is_open(v) for pair in pairs for v in pair):
        return own(one, other)
    found: Any = own(len(one), len(other))
    for a, b in reversed(pairs):
        if not _is_open(a) and not _is_open(b):
            found = found if a == b else own(a, b)
            continue
        less, same = (truth_tensor(f(a, b)).reshape(()) for f in (_FIRST[name], operator.eq))
        if found is True:
            found = torch.logical_or(less, same)
        elif found is False:
            found = less
        else:
            found = torch.logical_or(less, torch.logical_and(same, found))
    if isinstance(found, torch.Tensor):
        session.numbers.add(found, frozenset([False, True]))
    return found


_OPERATORS = {"Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge}
# What the first pair that differs has to be.
_FIRST = {"Lt": operator.lt, "LtE": operator.lt, "Gt": operator.gt, "GtE": operator.gt}
