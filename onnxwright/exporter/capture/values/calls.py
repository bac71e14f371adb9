"""Functions of torch that are called with one of several values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from onnxwright.exporter.capture.call_handlers import Below, CallHandler
from onnxwright.exporter.capture.control.errors import CaptureStoppedError
from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.source.aliases import new_writes, settle
from onnxwright.exporter.capture.source.regions import Region
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.values.one_of import OneOf, among
from onnxwright.exporter.capture.values.picking import where
from onnxwright.exporter.capture.values.places import tensor_of


def called(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function of torch of which an argument, or a part of one, is one of several.

    A decision between the calls: None may have a meaning, as for a mask.
    """
    one = first_of((args, kwargs))
    if one is not None:
        return among(one, lambda item: called(function, *_replaced((args, kwargs), one, item)))
    found = _compared(function, args)
    if found is None:
        found = _computed(function, args)
    if found is not None:
        return found
    number = _chosen_number((args, kwargs))
    if number is None:
        return function(*args, **kwargs)
    try:
        with Region():
            return function(*args, **kwargs)
    except CaptureStoppedError:
        raise
    except Exception:  # noqa: BLE001 - torch says in many ways that it has to know the number
        session = current()
    # Each number that it may be is a candidate.
    assert session is not None
    tag, numbers = session.numbers.picked(number) or _own_tag(number)
    every = OneOf(tensor_of(tag), dict(numbers))
    return among(every, lambda n: called(function, *_replaced((args, kwargs), number, n)))


def _chosen_number(values: Any) -> Any:
    """The first value that stands for one of a few numbers of Python; None without one."""
    session = current()
    if session is None:
        return None
    numbers = (v for v in leaves_in(values) if isinstance(v, (torch.Tensor, torch.SymInt)))
    return next((v for v in numbers if len(session.numbers.choices(v)) > 1), None)


# The function of torch -> what Python compares with, of both ways to write it.
_COMPARISONS = {
    getattr(torch.Tensor, form.format(name)): getattr(operator, name)
    for name in ("eq", "ne", "lt", "le", "gt", "ge") for form in ("{}", "__{}__")
}  # fmt: skip


def _compared(function: Callable[..., Any], args: Any) -> Any:
    """A comparison of a number that a tag picks, or a decision chose; None for others.

    So a decision by `x.ndim`, or by the length of a tuple, knows the candidate on its sides.
    """
    session, compare = current(), _COMPARISONS.get(function)
    if session is None or compare is None or len(args) != 2:
        return None
    number, other = args
    picked = session.numbers.picked(number)
    if not isinstance(other, (int, float)):
        return None
    if picked is not None:
        tag, numbers = picked
        return where(tag, {n: compare(v, other) for n, v in numbers.items()})
    choices = session.numbers.choices(number)
    if len(choices) < 2:
        return None
    # A decision chose the number: it is its own tag.
    found = function(number, other)
    session.numbers.add(found, frozenset([False, True]))
    session.truths.define(found, "is", number, {n for n in choices if compare(n, other)}, choices)
    return found


# The function of torch -> what Python computes with.
_ARITHMETIC = {
    getattr(torch.Tensor, name): getattr(operator, python)
    for python, names in {
        "add": ("add", "__add__", "__radd__"), "sub": ("sub", "__sub__"),
        "mul": ("mul", "__mul__", "__rmul__"),
        "floordiv": ("floor_divide", "__floordiv__"), "mod": ("remainder", "__mod__"),
    }.items() for name in names
}  # fmt: skip


def _computed(function: Callable[..., Any], args: Any) -> Any:
    """What a number that a tag picks, or a decision chose, gives with one of Python.

    It is computed as any number is; remembered is which number of Python it is for each candidate.
    """
    session, compute = current(), _ARITHMETIC.get(function)
    if session is None or compute is None or len(args) != 2 or type(args[1]) is not int:
        return None
    number, other = args
    if len(session.numbers.choices(number)) < 2:
        return None
    tag, numbers = session.numbers.picked(number) or _own_tag(number)
    try:
        results = {n: compute(v, other) for n, v in numbers.items()}
    except ArithmeticError:
        return None
    found = function(number, other)
    session.numbers.add(found, frozenset(results.values()))
    session.numbers.pick(found, tag, results)
    return found


def _own_tag(number: Any) -> tuple[Any, dict[int, Any]]:
    """A number that a decision chose is its own tag."""
    session = current()
    assert session is not None
    return number, {n: n for n in session.numbers.choices(number)}


class Candidates(CallHandler):
    """Functions of torch take arguments that are one of several values."""

    kinds = (OneOf,)
    is_after = True

    def is_for_all(self) -> bool:
        """Whether a number may stand for a few numbers of Python."""
        session = current()
        return session is not None and session.numbers.has_choices

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of torch."""
        return called(func, args, kwargs)

    def after(self, args: Any, result: Any, below: Below) -> Any:
        """The result; what the operators wrote is given to all tensors that are the same."""
        written = new_writes()
        if written:
            below(settle, written)
        return result


def first_of(values: Any) -> OneOf | None:
    """The first value that is one of several, in tuples, lists and dicts; None without one."""
    return next((value for value in leaves_in(values) if isinstance(value, OneOf)), None)


def leaves_in(values: Any) -> Iterator[Any]:
    """What is in tuples, lists and dicts."""
    if isinstance(values, dict):
        values = list(values.values())
    if kind_of(values) in (tuple, list):
        for value in values:
            yield from leaves_in(value)
    else:
        yield values


def _replaced(values: Any, old: Any, new: Any) -> Any:
    """Tuples, lists and dicts with another value in the place of one."""
    if values is old:
        return new
    if isinstance(values, dict):
        return {key: _replaced(value, old, new) for key, value in values.items()}
    if kind_of(values) in (tuple, list):
        return type(values)(_replaced(value, old, new) for value in values)
    return values
