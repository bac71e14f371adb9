"""Builtins of rewritten code that decide, count or read a number."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.control import functions as control
from onnxwright.exporter.capture.control.iterators import made_here
from onnxwright.exporter.capture.control.number_kinds import Kind, is_kind
from onnxwright.exporter.capture.control.runtime import noted
from onnxwright.exporter.capture.replacements.extremes import is_of_sizes
from onnxwright.exporter.capture.replacements.joined_parts import Lengths
from onnxwright.exporter.capture.replacements.symbolic_ranges import SymbolicRange
from onnxwright.exporter.capture.source import ranges
from onnxwright.exporter.capture.source.deciding import choose
from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.lists import Rows, length_of
from onnxwright.exporter.capture.source.loops import generated, listed
from onnxwright.exporter.capture.source.next_items import iter_, next_
from onnxwright.exporter.capture.source.number_lists import NumberSet, made_set, method, sorted_
from onnxwright.exporter.capture.source.operators import chain, not_
from onnxwright.exporter.capture.source.raising import refuse_handled
from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.source.run_time_lists import RunTimeList, changed
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.short_circuit import all_, any_
from onnxwright.exporter.capture.source.truth import as_truth, decided
from onnxwright.exporter.capture.source.tuple_lists import TupleList
from onnxwright.exporter.capture.source.unknown_numbers import has_one_element
from onnxwright.exporter.capture.source.windows import window
from onnxwright.exporter.capture.values.kinds import is_of_type, type_
from onnxwright.exporter.capture.values.one_of import each
from onnxwright.exporter.capture.values.texts import str_


def bool_(value: Any = False) -> Any:
    """`bool(value)`."""
    answer = decided(value)
    if answer is not None:
        return answer
    truth = as_truth(value)
    if isinstance(truth, torch.Tensor):
        truth = truth.clone() if truth is value else truth
        session = current()
        assert session is not None
        session.numbers.add(truth, frozenset([False, True]))
    return truth


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _extreme(function: Any, greater: bool) -> Callable[..., Any]:
    """`max` or `min`: what is compared may be tensors of one element."""

    def found(*values: Any, key: Any = None, **options: Any) -> Any:
        one = len(values) == 1
        if one and key is None and isinstance(values[0], Rows) and values[0].rows.ndim == 1:
            rows, length = values[0].whole("max" if greater else "min"), values[0].length
            extreme = rows.amax if greater else rows.amin
            if "default" not in options:
                return extreme(0)
            return choose(length > 0, lambda: extreme(0), _constant(options["default"]))
        several = ranges.counted(values[0]) if one else None
        if several is not None and isinstance(values[0], RunTimeList) and key is None:
            return several.at(_place(values[0], greater))
        if several is not None and key is not None:
            return _by_key(several, key, greater, options)
        # What Python does not take raises Python's error.
        function(*([0],) if one else (0,) * len(values), **options)
        items = list(values[0]) if one else list(values)
        if not items:
            return function(items, **options)
        if key is None and len(items) > 1 and is_of_sizes(items):
            return functools.reduce(torch.sym_max if greater else torch.sym_min, items)
        keys = items if key is None else [key(item) for item in items]
        if not any(map(_is_of_run_time, keys)):
            return items[function(range(len(keys)), key=keys.__getitem__)]
        best, best_key = items[0], keys[0]
        for item, own in zip(items[1:], keys[1:]):
            better = own > best_key if greater else own < best_key
            best, best_key = choose(better, _constant((item, own)), _constant((best, best_key)))
        return best

    return found


def _is_of_run_time(key: Any) -> bool:
    if isinstance(key, torch.Tensor):
        return has_one_element(key)
    return isinstance(key, SYMBOLS) and bool(free_unbacked_symbols(key))


def _divmod(one: Any, other: Any) -> Any:
    """`divmod(one, other)`."""
    plain_numbers = all(isinstance(n, (int, float)) for n in (one, other))
    return divmod(one, other) if plain_numbers else (one // other, one % other)


def _by_key(items: ranges.Counted, key: Any, greater: bool, options: dict[str, Any]) -> Any:
    """The first item with the greatest or the least key, of items whose number is of run time."""
    keys = listed(items, key)
    if not items.is_sized and "default" in options:
        found = functools.partial(_place, keys, greater)
        default = options["default"]
        return choose(items.length > 0, lambda: items.at(found()), lambda: default)
    return items.at(_place(keys, greater))


def _place(keys: Any, greater: bool) -> torch.Tensor:
    """The place of the first one of the greatest keys, or the least."""
    numbers = keys.numbers() if isinstance(keys, RunTimeList) else None
    if numbers is not None:
        return numbers.argmax() if greater else numbers.argmin()
    return _order_by(keys, "`max` or `min`", greater)[0]


def _order_by(keys: Any, use: str, reverse: bool) -> torch.Tensor:
    """The places of keys in their order."""
    order = keys.order(reverse=reverse) if isinstance(keys, RunTimeList) else None
    if order is None:
        raise CannotRewriteError(f"{use} by keys that are not numbers")
    return order


def _sum(values: Any, *start: Any, **options: Any) -> Any:
    """`sum(values)`."""
    if isinstance(values, ranges.Counted):
        values = listed(values, _itself)
    if not isinstance(values, RunTimeList):
        return sum(values, *start, **options)
    rows = values.whole("sum")
    total = rows.sum(0, dtype=None if rows.dtype == torch.bool else rows.dtype)
    first = sum((), *start, **options)
    return total if isinstance(first, int) and not first else first + total


def _listed(kind: type[list[Any] | tuple[Any, ...]], args: tuple[Any, ...]) -> Any:
    """`list(values)` or `tuple(values)`: another list of the same rows."""
    if len(args) == 1 and isinstance(args[0], RunTimeList):
        return args[0].copied(kind.__name__)
    found = ranges.counted(args[0]) if len(args) == 1 else None
    if found is not None and not isinstance(args[0], torch.Tensor):
        return listed(found, _itself)
    return kind(*args)


def _itself(value: Any) -> Any:
    return value


def _sorted(values: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted(values)`, of items whose number is of run time as well."""
    tuples = isinstance(values, RunTimeList) and values.numbers() is None
    several = None if key is None and not tuples else ranges.counted(values)
    if several is None:
        return sorted_(values, key=key, reverse=reverse)
    if key is None:
        return values.in_order(_order_by(values, "`sorted`", bool(reverse)))
    rows, keys = listed(several, _itself), listed(several, key)
    return rows.in_order(_order_by(keys, "`sorted`", bool(reverse)))


def sort(items: Any, **options: Any) -> Any:
    """`items.sort(...)`; gives the list."""
    if not isinstance(items, RunTimeList):
        noted(items)
        method("sort", items, **options)
        return items
    return changed(items, _sorted(items, **options))


def zip_items(function: Any, items: Any) -> Any:
    """`zip(*items)`: of a list of tuples the parts of all at each place."""
    if function is zip and isinstance(items, TupleList):
        refuse_handled(ValueError())  # without items there is nothing to unpack
        return iter([column.copied("zip") for column in items.columns])
    return builtin("zip", function)(*items)


def _filter(function: Any, items: Any) -> Any:
    """`filter(function, items)`."""
    return generated(items, _itself, bool_ if function is None else function)


def _number_of(kind: type[int | float], args: tuple[Any, ...]) -> Any:
    """`int(x)` or `float(x)` of a size or of a value that is known at run time only."""
    value = args[0] if len(args) == 1 else None
    if isinstance(value, torch.Tensor):
        proxy = tracer().tensor_tracker.get(value)
        if proxy is None or proxy.constant is not None:
            return kind(*args)
        is_truth = value.dtype == torch.bool
        value = (value.to(torch.int64) if is_truth else value).item()
    else:
        is_truth = isinstance(value, torch.SymBool) and bool(free_unbacked_symbols(value))
        value = torch.sym_ite(value, 1, 0) if is_truth else value
    if not isinstance(value, (torch.SymInt, torch.SymFloat)) or value.node.constant is not None:
        return kind(*args)
    found = torch.sym_int(value) if kind is int else torch.sym_float(value)
    session = current()
    if is_truth and kind is int and session is not None:
        session.numbers.add(found, frozenset([0, 1]))
    return found


def _length(items: Any) -> Any:
    """`len(items)`."""
    if isinstance(items, ranges.Counted):
        return torch.sym_max(items.length, 0) if isinstance(items.length, SYMBOLS) else items.length
    if isinstance(items, NumberSet):
        return items.values.shape[0]
    return length_of(items)


def counted(length: Any, items: Any, name: str, number: int, empty: bool) -> Any:
    """`len(items) > 0`, and other questions whether there are items.

    PyTorch takes the sizes of inputs for 1 or more: rows of run-time number are asked themselves.

    Args:
        length: `len`, if the name means that.
        items: what is counted.
        name: the operator in Python's tree, such as "Gt".
        number: what the length is compared with.
        empty: whether the comparison is true for no items.

    Returns:
        A truth value.
    """
    if length is len and isinstance(items, RunTimeList):
        found = bool_(items)
        return not_(found) if empty else found
    return chain((name,), lambda: builtin("len", length)(items), lambda: number)


def bound(value: Any) -> Any:
    """`value` as the start or the end of a slice."""
    if not isinstance(value, torch.Tensor) or current() is None or tracer() is None:
        return value
    whole = not value.dtype.is_floating_point and not value.dtype.is_complex
    return _number_of(int, (value,)) if whole and has_one_element(value) else value


def slice_of(start: Any, stop: Any) -> slice:
    """`start:stop` in brackets."""
    known = window(start, stop)
    return slice(bound(start), bound(stop)) if known is None else slice(*known)


AT_RUN_TIME: dict[str, Callable[..., Any]] = {
    "any": any_,
    "all": all_,
    "bool": bool_,
    "max": _extreme(max, True),
    "min": _extreme(min, False),
    "range": ranges.range_,
    "reversed": ranges.reversed_,
    "enumerate": ranges.enumerate_,
    "divmod": _divmod,
    "isinstance": is_of_type,
    "type": type_,
    "int": lambda *args: _number_of(int, args),
    "float": lambda *args: _number_of(float, args),
    "len": _length,
    "next": next_,
    "list": lambda *args: _listed(list, args),
    "filter": _filter,
    "iter": iter_,
    "map": ranges.map_,
    "set": made_set,
    "sorted": _sorted,
    "str": str_,
    "tuple": lambda *args: _listed(tuple, args),
    "sum": _sum,
    "zip": ranges.zip_,
}
"""Builtins -> what takes values that are known at run time only, and all else as Python does."""


# What stands for builtins while torch traces.
_REPLACED = (SymbolicRange, is_kind, Kind)


def builtin(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin, or what decides at run time in its place; torch replaces some while it traces."""
    if (
        current() is None
        or tracer() is None
        or not (function is getattr(builtins, name, None) or any(function is r for r in _REPLACED))
    ):
        return control.bound(function) if name in ("iter", "next") else function
    if name not in AT_RUN_TIME:
        return function
    found = functools.partial(_of_rows, AT_RUN_TIME[name])
    return found if name == "bool" else functools.partial(each, found)


# Builtins that give the same in whichever order they read.
_UNORDERED = ("all", "any", "max", "min", "set", "sorted", "sum")


# Builtins that take an iterator as it is, or items of it when they are asked for.
_ITERATORS = (
    *(ranges.zip_, ranges.map_, ranges.enumerate_, iter_, ranges.reversed_),
    *(next_, _filter, _length, bool_, is_of_type, type_, str_),
)


def _of_rows(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A builtin of `sizes.tolist()` or `set(numbers)`, as one of rows."""
    unordered = any(function is AT_RUN_TIME[name] for name in _UNORDERED)
    if function not in _ITERATORS:
        args = tuple(map(ranges.left_over, args))
    of_run_time = bool(args) and isinstance(args[0], ranges.Counted)
    if of_run_time and unordered and not kwargs.get("key"):
        args = (listed(args[0], _itself), *args[1:])
    if args and isinstance(args[0], NumberSet) and unordered:
        args = (Rows(args[0].values, args[0].values.shape[0]), *args[1:])
    if args and isinstance(args[0], Lengths):
        sizes = args[0].sizes
        args = (Rows(sizes, sizes.shape[0]), *args[1:])
    found = function(*args, **kwargs)
    is_new = hasattr(type(found), "__next__") and function not in (next_, iter_)
    return made_here(found) if is_new else found
