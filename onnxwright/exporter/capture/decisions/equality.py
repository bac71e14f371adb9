"""`==` and `!=` of rewritten code: of lists, dicts and objects that have values of run time.

Python compares items and objects where no code is converted: there, it asks for the answer of each
part, and one of several objects is of no class of the program.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import torch

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.decisions.truth import as_truth, decided
from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.lists.list_calls import numbers_of
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.logic import combined
from onnxwright.exporter.capture.values.numbers import is_of_run_time
from onnxwright.exporter.capture.values.one_of import OneOf, each
from onnxwright.exporter.capture.values.rows import Rows


def equal(name: str, one: Any, other: Any) -> Any:
    """`one == other` and `one != other`.

    Args:
        name: "Eq" or "NotEq".
        one, other: what is compared.
    """
    own = operator.eq if name == "Eq" else operator.ne
    if current() is None or tracer() is None:
        return own(one, other)
    if isinstance(other, OneOf) and not isinstance(one, OneOf):
        return each(equal, name, one, other)
    if isinstance(one, OneOf) and has_parts(one._ow_items.values()):
        return each(equal, name, one, other)
    is_equal = _equal(one, other)
    if is_equal is NotImplemented:
        return own(one, other)
    if name == "Eq":
        return is_equal
    answer = decided(is_equal)
    return combined("not", as_truth(is_equal)) if answer is None else not answer


def _equal(one: Any, other: Any) -> Any:
    """Whether two values are equal; NotImplemented for those that Python compares."""
    if isinstance(one, dict) and isinstance(other, dict):
        if not has_parts([*one.values(), *other.values()]):
            return NotImplemented
        return one.keys() == other.keys() and _all((one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and not isinstance(one, Rows):
        return _equal_items(one, other)
    if not _is_object(one):
        return NotImplemented
    kind: Any = type(one)
    function = kind.__eq__
    if function.__code__.co_filename == "<string>" and dataclasses.is_dataclass(one):
        if type(other) is not kind:
            return NotImplemented
        names = [field.name for field in dataclasses.fields(one) if field.compare]
        return _all((getattr(one, name), getattr(other, name)) for name in names)
    return bound(function)(one, other) if kind.__ne__ is object.__ne__ else NotImplemented


def _equal_items(one: Any, other: Any) -> Any:
    """The same of lists and tuples: those of numbers at once."""
    is_list = isinstance(one, list)
    if isinstance(other, Rows) or not isinstance(other, list if is_list else tuple):
        return NotImplemented
    if len(one) != len(other):
        return NotImplemented
    if kind_of(one) is kind_of(other):
        left, right = numbers_of(one, *other), numbers_of(other, *one)
        if left is not None and right is not None:
            return (left == right).all()
    return _all(zip(one, other)) if has_parts([*one, *other]) else NotImplemented


def _all(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Whether the parts of all pairs are equal."""
    all_equal: Any = True
    for one, other in pairs:
        answer = True if one is other else equal("Eq", one, other)
        part_answer = decided(answer)
        if part_answer is False:
            return False
        if part_answer is None:
            truth = as_truth(answer)
            all_equal = truth if all_equal is True else torch.logical_and(all_equal, truth)
    return all_equal


def has_parts(values: Iterable[Any]) -> bool:
    """Whether Python would ask for the answer of a part of some values."""
    return any(
        isinstance(v, (OneOf, list, tuple, dict)) or is_of_run_time(v) or _is_object(v)
        for v in values
    )


def _is_object(value: Any) -> bool:
    """Whether a value is an object whose class says in Python what is equal to it."""
    return type(type(value).__eq__) is FunctionType and not isinstance(value, (OneOf, torch.Tensor))
