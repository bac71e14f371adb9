"""Functions of torch that are called with one of several values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from onnxwright.exporter.capture.call_handlers import Below, CallHandler
from onnxwright.exporter.capture.control.errors import CaptureStoppedError
from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.graphs.aliases import new_writes, settle
from onnxwright.exporter.capture.graphs.regions import Region, tracer
from onnxwright.exporter.capture.model_lines import model_line
from onnxwright.exporter.capture.session.errors import NumberReadError
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.numbers import candidates_of, computed
from onnxwright.exporter.capture.values.one_of import OneOf, among
from onnxwright.exporter.capture.values.picking import tensor_of
from onnxwright.exporter.places import line_of


def called(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function of torch of which an argument, or a part of one, is one of several.

    A decision between the calls: None may have a meaning, as for a mask.
    """
    one = first_of((args, kwargs))
    if one is not None:
        return among(one, lambda item: called(function, *_replaced((args, kwargs), one, item)))
    found = computed(function, args, kwargs)
    if found is not None:
        return found
    number = _chosen_number((args, kwargs))
    if number is None or tracer() is None:
        return function(*args, **kwargs)
    try:
        with Region():
            return function(*args, **kwargs)
    except CaptureStoppedError:
        raise
    except Exception as error:
        session = current()
        if args and args[0] is number and is_method(function):  # a number of Python has it not
            raise NumberReadError(line_of(*model_line())) from error
    # Each number that it may be is a candidate.
    assert session is not None
    tag, numbers = candidates_of(number)
    every = OneOf(tensor_of(tag), dict(numbers))
    return among(every, lambda n: called(function, *_replaced((args, kwargs), number, n)))


def is_method(function: Any) -> bool:
    """Whether a function of torch is called as a method of a tensor only."""
    name = getattr(function, "__name__", "")
    return getattr(torch.Tensor, name, None) is function and not hasattr(torch, name)


def _chosen_number(values: Any) -> Any:
    """The first value that stands for one of a few numbers of Python; None without one."""
    session = current()
    if session is None:
        return None
    numbers = (v for v in leaves_in(values) if isinstance(v, (torch.Tensor, torch.SymInt)))
    return next((v for v in numbers if len(session.numbers.choices(v)) > 1), None)


class Candidates(CallHandler):
    """Functions of torch take arguments that are one of several values."""

    kinds = (OneOf,)
    is_after = True

    def is_for_all(self) -> bool:
        """Whether a tensor may stand for a number of Python."""
        session = current()
        return session is not None and bool(session.numbers)

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
