"""Candidates of a value that is one of several: what identifies them, and their numbers."""

from __future__ import annotations

import enum
from types import FunctionType, MethodType
from typing import Any

import torch

from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.values.parts import NUMBERS, leaves_of, parts_of

_NO_VALUE: Any = object()


def number_of(value: Any) -> int:
    """The number of a candidate in this capture: the same for what is joined as one candidate."""
    session = current()
    assert session is not None
    key = form_key(value)
    kept = None if holds_tensors(value) else value
    return session.forms.setdefault(key, (len(session.forms), kept))[0]


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
