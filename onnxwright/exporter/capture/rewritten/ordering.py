"""The order of values that are known at run time only, and lists and sets that they change."""

from __future__ import annotations

import functools
from collections.abc import Callable, ItemsView, KeysView, Sequence, ValuesView
from typing import Any

import torch

from onnxwright.exporter.capture.assumptions.size_tests import empty_of
from onnxwright.exporter.capture.control.handlers import may_raise
from onnxwright.exporter.capture.decisions.deciding import choose
from onnxwright.exporter.capture.graphs.regions import SYMBOLS
from onnxwright.exporter.capture.lists import ranges
from onnxwright.exporter.capture.lists.list_calls import (
    list_of,
    no_set,
    numbers_of,
    stacked,
)
from onnxwright.exporter.capture.loops.loops import listed
from onnxwright.exporter.capture.replacements.size_results import is_of_sizes
from onnxwright.exporter.capture.rewritten.items import item
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.model_lines import model_span
from onnxwright.exporter.capture.session.program_lists import List, kind_of
from onnxwright.exporter.capture.values.list_writes import written
from onnxwright.exporter.capture.values.numbers import (
    has_one_element,
    is_of_run_time,
    is_unknown,
    number,
)
from onnxwright.exporter.capture.values.one_of import settled
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.capture.values.symbol_operators import floats_of_run_time

_LEAVES = (torch.Tensor, bool, int, float, *SYMBOLS)
_FINITE = (list, tuple, range, dict, KeysView, ValuesView, ItemsView)


def _is_leaf(value: Any) -> bool:
    """Whether a value is a number, or a tensor of one element."""
    if isinstance(value, torch.Tensor):
        return has_one_element(value)
    return isinstance(value, _LEAVES)


def _keys_of(keys: Sequence[Any]) -> Rows | None:
    """Numbers and tensors of one element as rows; None where Python knows them."""
    leaves = [leaf for key in keys for leaf in (key if isinstance(key, tuple) else (key,))]
    if not all(map(_is_leaf, leaves)) or not any(map(is_unknown, leaves)):
        return None
    if any(isinstance(key, tuple) for key in keys):
        raise _not_numbers("`sorted`")
    return Rows.of_tensor(stacked(keys))


def _not_numbers(use: str) -> CannotRewriteError:
    return CannotRewriteError(
        f"{use} by keys that are not numbers",
        model_span(),
        "give it one number as the key; by two numbers, sort by the second one first",
    )


def _order_by(keys: Any, use: str, reverse: bool) -> torch.Tensor:
    """The places of keys in their order."""
    order = keys.order(reverse=reverse) if isinstance(keys, Rows) else None
    if order is None:
        raise _not_numbers(use)
    return order


def sorted_(values: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted(values)`, of items whose number or values are of run time as well."""
    reverse = bool(reverse)
    several = ranges.counted(values)
    if several is not None:
        rows = values if isinstance(values, Rows) else listed(several, ranges.same)
        keys = rows if key is None else listed(several, key)
        return rows.chosen(_order_by(keys, "`sorted`", reverse))
    numbers = numbers_of(values) if key is None else None
    if numbers is not None:
        return list_of(numbers.sort(stable=True, descending=reverse).values)
    if not isinstance(values, _FINITE):
        return sorted(values, key=key, reverse=reverse)
    values = list(values)
    sort_keys = values if key is None else [key(value) for value in values]
    key_rows = _keys_of(sort_keys)
    if key_rows is None:
        places = sorted(range(len(sort_keys)), key=sort_keys.__getitem__, reverse=reverse)
        return List(values[n] for n in places)
    order = _order_by(key_rows, "`sorted`", reverse)
    if all(type(v) is int for v in values):
        return list_of(torch.tensor(values).index_select(0, order))
    return List(item(values, number(place)) for place in order.unbind(0))


def sort(values: Any, **options: Any) -> None:
    """`values.sort()`."""
    written(values, sorted_(values, **options))


def remove(values: Any, element: Any) -> None:
    """`values.remove(element)`; the model raises an error where there is none."""
    numbers = numbers_of(values, element) if kind_of(values) is list else None
    if numbers is None or isinstance(values, Rows):
        values.remove(element)
        return
    may_raise(ValueError)
    place = Rows.of_tensor(numbers).place_of_value(element)
    before = torch.arange(len(values) - 1) < place
    written(values, list_of(torch.where(before, numbers[:-1], numbers[1:])))


def append(values: Any, item: Any) -> None:
    """`values.append(item)`."""
    values.append(settled(item))


def add(values: Any, item: Any) -> Any:
    """`values.add(item)`: a set of Python has numbers that Python knows."""
    if isinstance(values, set) and is_of_run_time(item):
        raise no_set()
    return values.add(item)


# -- the greatest and the least --------------------------------------------------------------------


def extreme(function: Any, greater: bool) -> Callable[..., Any]:
    """`max` or `min`: what is compared may be tensors of one element."""

    def extreme_of(*values: Any, key: Any = None, **options: Any) -> Any:
        one = len(values) == 1
        several = ranges.counted(values[0]) if one else None
        if several is not None:
            if "default" not in options:
                may_raise(ValueError)  # of no items
            return _of_several(values[0], several, key, greater, options)
        # What Python does not take raises Python's error.
        function(*([0],) if one else (0,) * len(values), **options)
        items = list(iter(values[0])) if one else list(values)
        if not items:
            return function(items, **options)
        if key is None and len(items) > 1 and is_of_sizes(items) and not floats_of_run_time(items):
            return functools.reduce(functools.partial(_of_sizes, greater), items)
        keys = items if key is None else [key(item) for item in items]
        if not any(map(_is_compared_at_run_time, keys)):
            return items[function(range(len(keys)), key=keys.__getitem__)]
        best, best_key = items[0], keys[0]
        for value, own in zip(items[1:], keys[1:]):
            better = own > best_key if greater else own < best_key
            best, best_key = choose(better, _constant((value, own)), _constant((best, best_key)))
        return best

    return extreme_of


def _of_sizes(greater: bool, one: Any, two: Any) -> Any:
    """The greater or the lesser of two numbers that follow from sizes.

    For torch, `max(n, 1)` is `n`, as it takes sizes for 1 or more: there, it is a decision.
    """
    for more, sides in ((one >= two, (one, two)), (two >= one, (two, one))):
        if empty_of(more) is not None:
            return choose(more, *map(_constant, sides if greater else sides[::-1]))
    return torch.sym_max(one, two) if greater else torch.sym_min(one, two)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _is_compared_at_run_time(key: Any) -> bool:
    return has_one_element(key) if isinstance(key, torch.Tensor) else is_unknown(key)


def _without_nan(numbers: torch.Tensor) -> torch.Tensor:
    """Numbers whose greatest and least are where Python finds them: no NaN is greater or less."""
    if not numbers.is_floating_point():
        return numbers
    first = numbers[:1]
    first_or_zero = torch.where(first.isnan(), 0.0, first)
    return torch.where(numbers.isnan() | first.isnan(), first_or_zero, numbers)


def _of_several(
    items: Any, several: ranges.Counted, key: Any, greater: bool, options: dict[str, Any]
) -> Any:
    """The first of the greatest or the least items, whose number is known at run time only."""
    every = items if isinstance(items, Rows) else listed(several, ranges.same)
    keys = every if key is None else listed(several, key)

    def first() -> Any:
        numbers = keys.numbers() if isinstance(keys, Rows) else None
        if numbers is not None and key is None and not numbers.is_floating_point():
            return numbers.amax(0) if greater else numbers.amin(0)
        if numbers is not None:
            compared = _without_nan(numbers)
            place = compared.argmax() if greater else compared.argmin()
            return several.at(place) if key is not None else numbers[place]
        return several.at(_order_by(keys, "`max` or `min`", greater)[0])

    if "default" not in options or (several.is_sized and key is not None):
        return first()
    return choose(several.length > 0, first, _constant(options["default"]))
