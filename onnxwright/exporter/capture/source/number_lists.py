"""Lists, sets and rows of numbers that are known at run time only: searched, counted, sorted.

The list has a length of Python, or is `x.tolist()` of a dynamic one.  Its numbers are put into one
tensor, and what Python asks of the list is asked of that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from typing import Any

import torch

from onnxwright.exporter.capture.replacements.joined_parts import Lengths
from onnxwright.exporter.capture.source.items import item
from onnxwright.exporter.capture.source.lists import Rows, as_row
from onnxwright.exporter.capture.source.ordering import in_order, order_of
from onnxwright.exporter.capture.source.raising import refuse_handled
from onnxwright.exporter.capture.source.ranges import Counted
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.run_time_lists import RunTimeList, changed, misused
from onnxwright.exporter.capture.source.session import current, refused_here
from onnxwright.exporter.capture.source.unknown_numbers import is_unknown
from onnxwright.exporter.capture.values.one_of import checked_place


class NumberSet:
    """`set(numbers)`: how many there are, and which, is known at run time only.

    Args:
        values: the numbers, in order, each once.
    """

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values

    def __len__(self) -> int:
        raise misused("len")

    def __iter__(self) -> Any:
        # The order of Python's sets depends on their history.
        raise misused("for ... in set(...)")

    def __getattr__(self, name: str) -> Any:
        raise misused(f"set.{name}")


def is_of_run_time(value: Any) -> bool:
    """Whether a value is a number that is known at run time only."""
    session = current()
    if isinstance(value, torch.Tensor):
        return session is not None and value in session.numbers and is_unknown(value)
    return isinstance(value, SYMBOLS) and is_unknown(value)


def numbers_of(values: Any, *others: Any) -> torch.Tensor | None:
    """The numbers of a list as a tensor; None for lists whose items Python knows, and others.

    Args:
        values: a list, a tuple, or `x.tolist()`.
        others: numbers that are looked for in it.
    """
    if isinstance(values, Lengths):
        return values.sizes
    if isinstance(values, RunTimeList):
        return values.numbers()
    if isinstance(values, NumberSet):
        return values.values
    if not isinstance(values, (list, tuple)) or not values:
        return None
    if not all(is_of_run_time(v) or isinstance(v, (bool, int, float)) for v in values):
        return None
    if not any(map(is_of_run_time, (*values, *others))):
        return None
    rows = [as_row(v) if not isinstance(v, torch.SymBool) else _truth(v) for v in values]
    dtype = rows[0].dtype
    for row in rows[1:]:
        dtype = torch.promote_types(dtype, row.dtype)
    return torch.stack([row.reshape(()).to(dtype) for row in rows])


def _truth(value: Any) -> torch.Tensor:
    return torch.scalar_tensor(value, dtype=torch.bool)


def number(value: torch.Tensor) -> torch.Tensor:
    """A tensor that stands for a number of Python."""
    session = current()
    if session is not None:
        session.numbers.add(value)
    return value


def list_of(rows: torch.Tensor) -> Any:
    """The numbers of a tensor as a list: of Python, where it has a length of Python."""
    if isinstance(rows.shape[0], int):
        return [number(row) for row in rows.unbind(0)]
    return Rows(rows, rows.shape[0])


def made_set(*args: Any) -> Any:
    """`set(values)`."""
    numbers = numbers_of(args[0]) if len(args) == 1 else None
    return set(*args) if numbers is None else NumberSet(torch.unique(numbers))


def contained(value: Any, container: Any) -> Any:
    """`value in container`, where the numbers of the container are of run time; None for others."""
    if isinstance(container, Counted) and container.is_range:
        return _in_range(value, container)
    if isinstance(container, RunTimeList):
        return container.equal_to(value).any()
    numbers = numbers_of(container)
    if numbers is None or not (isinstance(value, (bool, int, float)) or is_of_run_time(value)):
        return None
    return (numbers == _as_number(value)).any()


def _in_range(value: Any, values: Counted) -> Any:
    """`value in range(...)`."""
    if not (isinstance(value, (bool, int, float)) or is_of_run_time(value)):
        return None
    found = (torch.as_tensor(_as_number(value)), _as_number(values.start), _as_number(values.stop))
    place, start, stop = found
    low, high = (start, stop) if values.step > 0 else (stop + 1, start + 1)
    return (place >= low) & (place < high) & ((place - start) % abs(values.step) == 0)


def _as_number(value: Any) -> Any:
    return as_row(value) if isinstance(value, SYMBOLS) else value


_FINITE = (list, tuple, range, dict, KeysView, ValuesView, ItemsView)


def sorted_(values: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted(values)`, `sorted(values, key=...)`."""
    given = numbers_of(values)
    if key is None and given is not None:
        return list_of(given.sort(stable=True, descending=bool(reverse)).values)
    if not isinstance(values, _FINITE) or isinstance(values, RunTimeList):
        return sorted(values, key=key, reverse=reverse)
    values = list(values)
    keys = values if key is None else [key(value) for value in values]
    numbers = numbers_of(keys)
    if numbers is None:
        order = order_of(keys, bool(reverse))
        if order is not None:
            return in_order(values, order)
        places = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        return [values[n] for n in places]
    order = numbers.sort(stable=True, descending=bool(reverse)).indices
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return list_of(torch.tensor(values).index_select(0, order))
    return [item(values, number(place)) for place in order.unbind(0)]


def _index(values: Any, wanted: Any, *limits: Any) -> Any:
    """`values.index(wanted)`; the model raises an error where there is none."""
    numbers = numbers_of(values, wanted)
    if numbers is None or limits:
        return values.index(wanted, *limits)
    found = numbers == _as_number(wanted)
    place = torch.where(found.any(), found.to(torch.int64).argmax(0), found.shape[0])
    if isinstance(found.shape[0], int):
        return number(checked_place(place, found.shape[0]))
    places = torch.arange(found.shape[0], device=place.device)
    return number(places.index_select(0, place.reshape(1)).reshape(()))


def _count(values: Any, wanted: Any) -> Any:
    """`values.count(wanted)`."""
    numbers = numbers_of(values, wanted)
    if numbers is None:
        return values.count(wanted)
    return number((numbers == _as_number(wanted)).sum())


def _sort(values: Any, **options: Any) -> Any:
    """`values.sort()`."""
    if type(values) is not list:
        return values.sort(**options)
    values[:] = sorted_(values, **options)
    return None


def removed(items: Any, value: Any) -> Any:
    """`items.remove(value)`; gives the list."""
    if not isinstance(items, RunTimeList):
        method("remove", items, value)
        return items
    refuse_handled(ValueError())
    return changed(items, items.without_value(value))


def _remove(values: Any, wanted: Any) -> Any:
    """`values.remove(wanted)`; the model raises an error where there is none."""
    numbers = numbers_of(values, wanted)
    if type(values) is not list or numbers is None:
        return values.remove(wanted)
    refuse_handled(ValueError())
    place = _index(values, wanted)
    before = torch.arange(len(values) - 1) < place
    values[:] = list_of(torch.where(before, numbers[:-1], numbers[1:]))
    return None


def _bit_length(value: Any) -> Any:
    """`value.bit_length()`."""
    if not is_of_run_time(value):
        return value.bit_length()
    whole = as_row(value).abs()
    return number(((whole >> torch.arange(63)) > 0).sum())


_METHODS: dict[str, Callable[..., Any]] = {
    "index": _index, "count": _count, "sort": _sort, "remove": _remove, "bit_length": _bit_length,
}  # fmt: skip


def method(name: str, value: Any, *args: Any, **options: Any) -> Any:
    """`value.name(...)`: a list may have numbers of run time."""
    if current() is None:
        return getattr(value, name)(*args, **options)
    if isinstance(value, (list, tuple, Lengths)) or is_of_run_time(value):
        with refused_here():
            return _METHODS[name](value, *args, **options)
    return getattr(value, name)(*args, **options)


def equal(name: str, one: Any, other: Any) -> Any:
    """`one == other` and `one != other`, of lists with numbers of run time as well."""
    own = operator.eq if name == "Eq" else operator.ne
    if not isinstance(one, (list, tuple)) or type(one) is not type(other):
        return own(one, other)
    if isinstance(one, RunTimeList) or len(one) != len(other):
        return own(one, other)
    left, right = numbers_of(one, *other), numbers_of(other, *one)
    if left is None or right is None:
        return own(one, other)
    return (left == right).all() if name == "Eq" else (left != right).any()


def bits(name: str, one: Any, other: Any) -> Any:
    """`one & other`, `one << other` and the like, of integers of run time as well."""
    own = getattr(operator, name)
    symbolic = [isinstance(v, torch.SymInt) and is_unknown(v) for v in (one, other)]
    plain = all(isinstance(v, (int, torch.SymInt)) or is_of_run_time(v) for v in (one, other))
    if not any(symbolic) or not plain or current() is None:
        return own(one, other)
    made = [v if isinstance(v, torch.Tensor) else torch.full((), v) for v in (one, other)]
    return number(own(*made))
