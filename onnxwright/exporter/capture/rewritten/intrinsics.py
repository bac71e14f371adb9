"""The one table of builtins and methods that take values of run time in rewritten code.

A further one is a line of `BUILTINS` or `METHODS`, and a test: rewritten code calls all of these
names through `builtin` and `method`, which take the plain values of Python as well.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.size_tests import is_open
from onnxwright.exporter.capture.control import functions as control
from onnxwright.exporter.capture.control.handlers import may_raise
from onnxwright.exporter.capture.control.iterators import made_here
from onnxwright.exporter.capture.control.runtime import noted
from onnxwright.exporter.capture.control.store import original
from onnxwright.exporter.capture.decisions.deciding import choose
from onnxwright.exporter.capture.decisions.operators import all_, any_, chain, not_
from onnxwright.exporter.capture.decisions.truth import as_truth, decided
from onnxwright.exporter.capture.graphs.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.lists import ranges
from onnxwright.exporter.capture.lists.list_calls import (
    count_of,
    index_of,
    length_of,
    made_set,
)
from onnxwright.exporter.capture.lists.ranges import window
from onnxwright.exporter.capture.loops.loops import extend, generated, listed
from onnxwright.exporter.capture.rewritten.ordering import (
    add,
    append,
    extreme,
    remove,
    sort,
    sorted_,
)
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.program_lists import kind_of, own_list
from onnxwright.exporter.capture.session.session import current, refused_here
from onnxwright.exporter.capture.session.stand_ins import Kind, is_kind
from onnxwright.exporter.capture.values.chosen_objects import choice_of
from onnxwright.exporter.capture.values.going_through import as_container
from onnxwright.exporter.capture.values.iterators import (
    LazyIterator,
    note_taken,
    refuse_left,
    taken,
)
from onnxwright.exporter.capture.values.kinds import is_of_type, type_
from onnxwright.exporter.capture.values.numbers import (
    has_one_element,
    is_integer,
    is_of_run_time,
    number,
    stands_for_number,
)
from onnxwright.exporter.capture.values.one_of import OneOf, each, settled
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.capture.values.texts import TextOfNumber, refuse_text, repr_, str_


def bool_(value: Any = False) -> Any:
    """`bool(value)`."""
    if isinstance(value, torch.SymBool) and is_open(value):
        return value
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
    is_number = any(isinstance(n, (torch.Tensor, *SYMBOLS)) for n in (one, other))
    return (one // other, one % other) if is_number else divmod(one, other)


def _round(value: Any, *digits: Any) -> Any:
    """`round(value)`."""
    if not stands_for_number(value):
        return round(value, *digits)
    if digits and digits[0] is not None:
        raise CannotRewriteError("`round` to digits of a number that is known at run time only")
    return number(value if not value.is_floating_point() else value.round().to(torch.int64))


def _sum(values: Any, *start: Any, **options: Any) -> Any:
    """`sum(values)`."""
    if isinstance(values, ranges.Counted):
        values = listed(values, ranges.same)
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
    counter = ranges.counted(args[0]) if len(args) == 1 else None
    if counter is not None and not isinstance(args[0], torch.Tensor):
        return listed(counter, ranges.same)
    return own_list(kind(*args))


def zip_items(function: Any, items: Any) -> Any:
    """`zip(*items)`: of a list of tuples the parts of all at each place."""
    if function is zip and isinstance(items, Rows) and not items.form.is_leaf:
        may_raise(ValueError)  # without items there is nothing to unpack
        return made_here(iter(items.by_parts()))
    return builtin("zip", function)(*items)


def _filter(function: Any, items: Any) -> Any:
    """`filter(function, items)`."""
    return generated(items, ranges.same, bool_ if function is None else function)


def _number_of(kind: type[int | float], args: tuple[Any, ...]) -> Any:
    """`int(x)` or `float(x)` of a size or of a value that is known at run time only."""
    value = args[0] if len(args) == 1 else None
    if isinstance(value, TextOfNumber):
        refuse_text()
    if isinstance(value, torch.Tensor):
        proxy = tracer().tensor_tracker.get(value)
        if proxy is None or proxy.constant is not None:
            return kind(*args)
        is_truth = value.dtype == torch.bool
        value = (value.to(torch.int64) if is_truth else value).item()
    else:
        is_truth = isinstance(value, torch.SymBool) and (
            bool(free_unbacked_symbols(value)) or is_open(value)
        )
        value = torch.sym_ite(value, 1, 0) if is_truth else value
    if not isinstance(value, (torch.SymInt, torch.SymFloat)) or value.node.constant is not None:
        return kind(*args)
    if kind is int and isinstance(value, torch.SymFloat):
        may_raise(ValueError, OverflowError)  # of NaN and of infinity
    converted_number = torch.sym_int(value) if kind is int else torch.sym_float(value)
    session = current()
    if is_truth and kind is int and session is not None:
        session.numbers.add(converted_number, frozenset([0, 1]))
    return converted_number


def iter_(items: Any, *rest: Any) -> Any:
    """`iter(...)`."""
    if isinstance(items, LazyIterator):
        return items
    if not rest and (isinstance(items, Rows) or ranges.is_counted(items)):
        return LazyIterator("iterator", lambda: items)
    return made_here(iter(items, *rest) if rest else control.bound(iter)(items))


def next_(items: Any, *default: Any) -> Any:
    """`next(items, default)`: of items whose number is known at run time only, the first."""
    refuse_left(items)
    if not isinstance(items, LazyIterator):
        note_taken(items)
        return control.bound(next)(items, *default)
    every = items.take(whole=False)
    if isinstance(every, Rows):
        every.check_order("next")
    counter = ranges.counted(every)
    if counter is None:
        return next(iter(every), *default)
    if default:
        return choose(counter.length > 0, functools.partial(counter.at, 0), lambda: default[0])
    may_raise(StopIteration)
    return counter.at(0)


def _identity(value: Any) -> int:
    """`id(value)`: an address says nothing where the model runs."""
    if isinstance(value, OneOf) or is_of_run_time(value) or choice_of(value):
        with refused_here():
            reason = "`id` of a value that is known at run time only"
            raise CannotRewriteError(reason, advice="compare the values: `a == b`, `a is b`")
    return id(original(value))


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
        has_items = bool_(items)
        return not_(has_items) if empty else has_items
    return chain((name,), lambda: builtin("len", length)(items), lambda: number)


def bound(value: Any) -> Any:
    """`value` as the start or the end of a slice."""
    if not isinstance(value, torch.Tensor) or current() is None or tracer() is None:
        return value
    whole = not value.dtype.is_floating_point and not value.dtype.is_complex
    return _number_of(int, (value,)) if whole and has_one_element(value) else value


def slice_of(start: Any, stop: Any) -> slice:
    """`start:stop` in brackets."""
    bounds = window(start, stop)
    return slice(bound(start), bound(stop)) if bounds is None else slice(*bounds)


@dataclass(frozen=True)
class Builtin:
    """What stands for a builtin.

    Fields:
        call: takes values that are known at run time only, and all else as Python does.
        takes: what it makes of an argument that is iterated: its "items" in their order, items
            "in any order", the "iterator" as it is, or an "iterable" that it gives an iterator of.
    """

    call: Callable[..., Any]
    takes: str = "items"

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call it."""
        if self.takes not in ("iterator", "iterable"):
            args = tuple(map(taken, args))
        first = args[0] if args else None
        if self.takes == "in any order":
            if isinstance(first, ranges.Counted) and not options.get("key"):
                first = listed(first, ranges.same)
        call_result = self.call(*(first, *args[1:]) if args else (), **options)
        is_new = hasattr(type(call_result), "__next__") and self.call not in (next_, iter_)
        return made_here(call_result) if is_new else call_result


BUILTINS: dict[str, Builtin] = {
    "all": Builtin(all_, "in any order"),
    "any": Builtin(any_, "in any order"),
    "bool": Builtin(bool_, "iterator"),
    "callable": Builtin(callable, "iterator"),
    "divmod": Builtin(_divmod),
    "enumerate": Builtin(ranges.enumerate_, "iterable"),
    "filter": Builtin(_filter, "iterable"),
    "float": Builtin(lambda *args: _number_of(float, args)),
    "id": Builtin(_identity, "iterator"),
    "int": Builtin(lambda *args: _number_of(int, args)),
    "isinstance": Builtin(is_of_type, "iterator"),
    "iter": Builtin(iter_, "iterable"),
    "len": Builtin(_length, "iterator"),
    "list": Builtin(lambda *args: _listed(list, args)),
    "map": Builtin(ranges.map_, "iterable"),
    "max": Builtin(extreme(max, True), "in any order"),
    "min": Builtin(extreme(min, False), "in any order"),
    "next": Builtin(next_, "iterator"),
    "range": Builtin(ranges.range_),
    "repr": Builtin(repr_, "iterator"),
    "reversed": Builtin(ranges.reversed_, "iterable"),
    "round": Builtin(_round),
    "set": Builtin(made_set, "in any order"),
    "sorted": Builtin(sorted_, "in any order"),
    "str": Builtin(str_, "iterator"),
    "sum": Builtin(_sum, "in any order"),
    "tuple": Builtin(lambda *args: _listed(tuple, args)),
    "type": Builtin(type_, "iterator"),
    "zip": Builtin(ranges.zip_, "iterable"),
}

METHODS: dict[str, Callable[..., Any]] = {
    "add": add,
    "append": append,
    "count": count_of,
    "extend": extend,
    "index": index_of,
    "is_integer": is_integer,
    "remove": remove,
    "sort": sort,
}
"""Methods of lists, tuples, sets and numbers -> what takes the object, and values of run time."""

# What stands for builtins while torch traces.
_REPLACED = (is_kind, Kind)


def builtin(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin, or what decides at run time in its place; torch replaces some while it traces."""
    if (
        current() is None
        or tracer() is None
        or not (function is getattr(builtins, name, None) or any(function is r for r in _REPLACED))
    ):
        return control.bound(function) if name in ("iter", "next") else function
    replacement = BUILTINS[name]
    if replacement.takes == "iterable":
        return lambda *args, **options: each(replacement, *map(as_container, args), **options)
    return replacement if name in ("bool", "id") else functools.partial(each, replacement)


def method(name: str, value: Any, *args: Any, **options: Any) -> Any:
    """`value.name(...)`: a list may have numbers of run time."""
    value = settled(value)
    own = kind_of(value) in (list, tuple, set) or isinstance(value, Rows)
    if current() is None or not (own or is_of_run_time(value)):
        return control.bound(getattr(value, name))(*args, **options)
    with refused_here():
        return METHODS[name](noted(value) if own else value, *args, **options)
