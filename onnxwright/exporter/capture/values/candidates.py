"""Candidates of a value that is one of several: what identifies them, and their numbers."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.control.places import PLAIN, is_container
from onnxwright.exporter.capture.graphs.emitting import are_known
from onnxwright.exporter.capture.graphs.regions import SYMBOLS
from onnxwright.exporter.capture.session.number_forms import NUMBERS
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.parts import leaves_of, parts_of, slots_of
from onnxwright.exporter.torch_internals import FakeTensor

_NO_VALUE: Any = object()
# They hold nothing of one part of a program.
_STOPS = (type, torch.nn.Module, ModuleType, CodeType)


def number_of(value: Any, *, by_reference: bool = False) -> int:
    """The number of a candidate in this capture: the same for what is joined as one candidate.

    Args:
        value: the candidate.
        by_reference: whether it is this object, and not its parts.
    """
    session = current()
    assert session is not None
    key = ("object", id(value)) if by_reference else form_key(value)
    kept = None if holds_tensors(value) and not by_reference else value
    number = session.forms.setdefault(key, (len(session.forms), kept))[0]
    if by_reference:
        session.by_reference.add(number)
    return number


def is_reference(number: int) -> bool:
    """Whether the candidate with a number is an object, and not its parts."""
    session = current()
    return session is not None and number in session.by_reference


def renew_reference(number: int, value: Any) -> Any:
    """Let a candidate be another object from now on: what a part made is made anew outside."""
    session = current()
    assert session is not None
    session.forms["object", id(value)] = number, value
    return value


def is_mutable(value: Any) -> bool:
    """Whether a value is a container or a dataclass, which programs change in place."""
    if isinstance(value, type) or getattr(type(value), "is_rows", False):
        return False
    return is_container(value) or dataclasses.is_dataclass(value)


def is_of_before(value: Any, outside: Callable[[torch.Tensor], bool]) -> bool:
    """Whether a value holds no tensor and no number that only the part around knows.

    Args:
        value: anything.
        outside: whether a tensor is known outside of the part.
    """
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen or type(one) in PLAIN or isinstance(one, _STOPS):
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            if isinstance(one, FakeTensor) and not outside(one):
                return False
        elif isinstance(one, SYMBOLS):
            if not are_known(free_unbacked_symbols(one)):
                return False
        elif isinstance(one, FunctionType):
            waiting += map(contents_of, one.__closure__ or ())
        elif isinstance(one, MethodType):
            waiting.append(one.__self__)
        elif hasattr(type(one), "_ow_parts"):
            waiting += [one._ow_tag, *one._ow_items.values()]
        else:
            parts = parts_of(one)
            waiting += slots_of(one).values() if parts is None else parts[1]
            waiting += getattr(one, "__dict__", {}).values()
    return True


def form_key(value: Any) -> Any:
    """What identifies a candidate: equal for values that are joined as one."""
    session = current()
    if isinstance(value, enum.Enum):
        return "object", id(value)
    if value is None or isinstance(value, str):
        return "constant", value
    if isinstance(value, NUMBERS):
        return ("number",)
    if isinstance(value, torch.Tensor):
        is_number = session is not None and value in session.numbers
        return ("number",) if is_number else ("tensor", value.ndim)
    if isinstance(value, MethodType):
        return "method", form_key(value.__func__), id(value.__self__)
    if isinstance(value, FunctionType) and not value.__kwdefaults__ and not value.__dict__:
        held = (*map(contents_of, value.__closure__ or ()), *(value.__defaults__ or ()))
        return "function", id(value.__code__), id(value.__globals__), tuple(map(id, held))
    parts = parts_of(value)
    return ("object", id(value)) if parts is None else ("parts", kind_of(value), tuple(parts[0]))


def contents_of(cell: Any) -> Any:
    """What a cell of a closure holds; an object of its own for a name that has no value yet."""
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return _NO_VALUE


def is_constant(value: Any) -> bool:
    """Whether a value is None, a text or a member of an enumeration."""
    return value is None or isinstance(value, (str, enum.Enum))


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are one, or constants that are equal."""
    if one is other:
        return True
    if type(one) is not type(other) or isinstance(one, (torch.Tensor, *SYMBOLS)):
        return False
    if isinstance(one, (str, bool, int, float)):
        return bool(one == other)
    return isinstance(one, (FunctionType, MethodType)) and form_key(one) == form_key(other)


def is_truth_value(value: Any) -> bool:
    """Whether a value is a tensor that stands for a truth value of Python."""
    session = current()
    return (
        isinstance(value, torch.Tensor) and value.dtype == torch.bool and not value.ndim
        and session is not None and value in session.numbers
    )  # fmt: skip


def holds_tensors(value: Any) -> bool:
    """Whether a value is a tensor or a number of run time, or has a part that is."""
    return bool(leaves_of(value))


def is_of_a_part(value: Any) -> bool:
    """Whether a value is a tensor, or a number, that the part around knows alone."""
    return isinstance(value, (torch.Tensor, *SYMBOLS))


def is_choosable(value: Any) -> bool:
    """Whether a value is a candidate as it is: it holds no tensor of the part it was made in.

    Args:
        value: anything.

    Returns:
        Whether it is None, a text, a function, a module, a member of an enumeration, a class, or
        one of several such values.

    Example:
        >>> is_choosable(torch.relu), is_choosable(torch.nn.ReLU()), is_choosable(3)
        (True, True, False)
        >>> is_choosable(functools.partial(torch.add, torch.zeros(2)))
        False
    """
    if hasattr(type(value), "_ow_parts"):
        return all(map(is_choosable, value._ow_items.values()))
    if is_constant(value) or isinstance(value, (torch.nn.Module, type)):
        return True
    if isinstance(value, torch.Tensor) or not callable(value):
        return False
    if isinstance(value, functools.partial):
        held = [*value.args, *value.keywords.values()]
        return is_choosable(value.func) and not any(map(is_of_a_part, held))
    if isinstance(value, FunctionType):
        held = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        held += map(contents_of, value.__closure__ or ())
        return not any(map(is_of_a_part, held))
    return not is_of_a_part(getattr(value, "__self__", None))
