"""Functions of torch that are called with one of several values."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch

from onnxwright.exporter.capture.control.runtime import traced
from onnxwright.exporter.capture.graphs.regions import Region, tracer
from onnxwright.exporter.capture.session.call_handlers import Below, CallHandler
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import (
    CaptureStoppedError,
    DisagreementError,
    NumberReadError,
    words,
)
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.number_forms import as_tensor
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.aliases import new_writes, settle
from onnxwright.exporter.capture.values.going_through import alike, as_container
from onnxwright.exporter.capture.values.logic import is_number
from onnxwright.exporter.capture.values.numbers import candidates_of, computed, stands_for_number
from onnxwright.exporter.capture.values.one_of import OneOf, among, possible
from onnxwright.exporter.capture.values.picking import tensor_of
from onnxwright.exporter.places import line_of
from onnxwright.exporter.torch_internals import FakeTensor, pytree


def called(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function of torch of which an argument, or a part of one, is one of several.

    A decision between the calls: None may have a meaning, as for a mask.
    """
    one = first_of((args, kwargs))
    if one is not None:
        return among(one, lambda item: called(function, *_replaced((args, kwargs), one, item)))
    number_result = computed(function, args, kwargs)
    if number_result is not None:
        return number_result
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

    kinds = (OneOf, torch.SymBool)
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
    """The first value that is one of several, in containers and slices; None without one."""
    return next((value for value in leaves_in(values) if isinstance(value, OneOf)), None)


def leaves_in(values: Any) -> Iterator[Any]:
    """What is in tuples, lists, dicts and slices."""
    if isinstance(values, dict):
        values = list(values.values())
    elif isinstance(values, slice):
        values = (values.start, values.stop, values.step)
    if kind_of(values) in (tuple, list):
        for value in values:
            yield from leaves_in(value)
    else:
        yield values


def _replaced(values: Any, old: Any, new: Any) -> Any:
    """Tuples, lists, dicts and slices with another value in the place of one."""
    if values is old:
        return new
    if isinstance(values, dict):
        return {key: _replaced(value, old, new) for key, value in values.items()}
    if isinstance(values, slice):
        return slice(*(_replaced(n, old, new) for n in (values.start, values.stop, values.step)))
    if kind_of(values) in (tuple, list):
        return type(values)(_replaced(value, old, new) for value in values)
    return values


class OtherNames(CallHandler):
    """Parameters and buffers that the program has by another name, as an item of a list."""

    exact_kinds = (torch.Tensor, torch.nn.Parameter)

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call the function, or the method that they have, with what stands for them."""
        name = getattr(func, "__name__", "")
        if name == "tolist" and getattr(torch.Tensor, name) is func:
            func = FakeTensor.tolist
        return func(*_traced(args), **_traced(kwargs))


def _traced(values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _traced(value) for key, value in values.items()}
    return type(values)(map(_traced, values)) if type(values) in (tuple, list) else traced(values)


# -- results of a module that are one of several values --------------------------------------------


def asks(code: CodeType) -> bool:
    """Whether a function has questions that Python answers wrongly for one of several objects.

    Comparisons are none of them: they give a truth value of run time.
    """
    if set(code.co_names) & {"isinstance", "hasattr", "getattr", "type", "get", "callable"}:
        return True
    return any(i.opname in ("IS_OP", "CONTAINS_OP") for i in dis.get_instructions(code))


def check_results(changes: Changes, module: Any) -> None:
    """Let results of a module that may be None be values, or errors of the model.

    Args:
        changes: undo it.
        module: the model; a function is left as it is.
    """
    if isinstance(module, torch.nn.Module):
        changes.later(module.register_forward_hook(_check, with_kwargs=True).remove)


def _check(module: Any, args: Any, kwargs: Any, results: Any) -> Any:
    session = current()
    return checked(results) if session is not None else None


def checked(results: Any) -> Any:
    """Results of which none may be None: the model raises an error where one is.

    Args:
        results: what a module gives.

    Raises:
        DisagreementError: a result is one of several values, and not only None or a tensor.
    """

    def one(value: Any) -> Any:
        if not isinstance(value, OneOf):
            is_float = stands_for_number(value) and value.is_floating_point()
            return value.to(torch.get_default_dtype()) if is_float else value
        items = possible(value)
        there = {n: item for n, item in items.items() if item is not None}
        if len(items) > 1 and alike(value):
            return checked(as_container(value))
        if len(there) != 1:
            first, other = (*map(words, there.values()), "`None`", "`None`")[:2]
            error = DisagreementError(value._ow_name, first, other)
            error.span = line_of(*value._ow_line)
            raise error
        ((number, item),) = there.items()
        if len(items) == 1:
            return checked(item)
        session = current()
        assert session is not None
        session.absent.setdefault(value._ow_line)
        present = is_number(value._ow_tag, [number], items)
        return pytree.tree_map(lambda leaf: _there(leaf, present), checked(item))

    return pytree.tree_map(one, results, is_leaf=lambda v: isinstance(v, OneOf))


def _there(leaf: Any, present: Any) -> Any:
    """A tensor; reading it is an error where it is not there."""
    if not isinstance(leaf, (torch.Tensor, int, float, torch.SymInt)):
        raise DisagreementError("the result", "`None`", words(leaf))
    value = as_tensor(leaf)
    place = torch.where(present, 0, 1)
    return torch.ops.aten.index.Tensor(value[None], [place])
