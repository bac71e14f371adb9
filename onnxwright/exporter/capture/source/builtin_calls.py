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
from onnxwright.exporter.capture.control.lists import own_list
from onnxwright.exporter.capture.control.number_kinds import Kind, is_kind
from onnxwright.exporter.capture.replacements.joined_parts import Lengths
from onnxwright.exporter.capture.replacements.symbolic_ranges import SymbolicRange
from onnxwright.exporter.capture.source import ranges
from onnxwright.exporter.capture.source.columns import LEAF
from onnxwright.exporter.capture.source.iterators import taken
from onnxwright.exporter.capture.source.list_calls import length_of, made_set
from onnxwright.exporter.capture.source.loops import generated, listed
from onnxwright.exporter.capture.source.next_items import iter_, next_
from onnxwright.exporter.capture.source.operators import chain, not_
from onnxwright.exporter.capture.source.ordering import extreme, sorted_
from onnxwright.exporter.capture.source.raising import refuse_handled
from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.source.rows import Rows
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.short_circuit import all_, any_
from onnxwright.exporter.capture.source.truth import as_truth, decided
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


def _divmod(one: Any, other: Any) -> Any:
    """`divmod(one, other)`."""
    plain_numbers = all(isinstance(n, (int, float)) for n in (one, other))
    return divmod(one, other) if plain_numbers else (one // other, one % other)


def _sum(values: Any, *start: Any, **options: Any) -> Any:
    """`sum(values)`."""
    if isinstance(values, ranges.Counted):
        values = listed(values, _itself)
    if not isinstance(values, Rows):
        return sum(values, *start, **options)
    rows = values.whole("sum")
    total = rows.sum(0, dtype=None if rows.dtype == torch.bool else rows.dtype)
    first = sum((), *start, **options)
    return total if isinstance(first, int) and not first else first + total


def _listed(kind: type[list[Any] | tuple[Any, ...]], args: tuple[Any, ...]) -> Any:
    """`list(values)` or `tuple(values)`: another list of the same rows."""
    if len(args) == 1 and isinstance(args[0], Rows):
        return args[0].copy()
    found = ranges.counted(args[0]) if len(args) == 1 else None
    if found is not None and not isinstance(args[0], torch.Tensor):
        return listed(found, _itself)
    return own_list(kind(*args))


def _itself(value: Any) -> Any:
    return value


def zip_items(function: Any, items: Any) -> Any:
    """`zip(*items)`: of a list of tuples the parts of all at each place."""
    if function is zip and isinstance(items, Rows) and items.form != LEAF:
        refuse_handled(ValueError())  # without items there is nothing to unpack
        return made_here(iter(items.by_parts()))
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
    if length is len and isinstance(items, Rows):
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
    "max": extreme(max, True),
    "min": extreme(min, False),
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
    "sorted": sorted_,
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
        args = tuple(map(taken, args))
    of_run_time = bool(args) and isinstance(args[0], ranges.Counted)
    if of_run_time and unordered and not kwargs.get("key"):
        args = (listed(args[0], _itself), *args[1:])
    if args and isinstance(args[0], Rows) and args[0].is_set and unordered:
        args = (Rows(args[0].columns), *args[1:])
    if args and isinstance(args[0], Lengths):
        args = (Rows.of_tensor(args[0].sizes), *args[1:])
    found = function(*args, **kwargs)
    is_new = hasattr(type(found), "__next__") and function not in (next_, iter_)
    return made_here(found) if is_new else found
