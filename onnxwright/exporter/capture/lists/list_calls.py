"""Methods of lists in rewritten code, where the list may be one of run-time length."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.control.handlers import may_raise
from onnxwright.exporter.capture.graphs.regions import SYMBOLS
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.model_lines import model_span
from onnxwright.exporter.capture.session.program_lists import List
from onnxwright.exporter.capture.values.columns import as_row
from onnxwright.exporter.capture.values.numbers import is_number, is_of_run_time, is_unknown, number
from onnxwright.exporter.capture.values.one_of import OneOf, each
from onnxwright.exporter.capture.values.rows import Rows, like_of


def length_of(items: Any) -> Any:
    """`len(items)`."""
    if isinstance(items, Rows):
        return items.length
    if isinstance(items, torch.Tensor) and items.ndim:
        return items.shape[0]  # `len` must be a number of Python
    return len(items)


def part_of(items: Sequence[Any], part: slice) -> Rows | None:
    """`items[a:b]` of a list of Python, with bounds that are known at run time.

    Args:
        items: tensors of one type and of equal sizes, or numbers.
        part: the slice.

    Returns:
        The list; None for other items.
    """
    if not items or not all(
        isinstance(x, (torch.Tensor, bool, int, float, *SYMBOLS)) for x in items
    ):
        return None
    rows = [as_row(item) for item in items]
    if any(row.dtype != rows[0].dtype or row.shape != rows[0].shape for row in rows):
        return None
    selected: Rows = Rows.of_tensor(torch.stack(rows))[part]
    return selected


def repeated(one: Any, other: Any) -> Any:
    """`[0] * n`, also as often as is known at run time only."""
    items, times = (one, other) if isinstance(one, list) else (other, one)
    if not is_unknown(times) or not items or isinstance(items, Rows):
        return one * other
    times = times.item() if isinstance(times, torch.Tensor) else times
    count = torch.sym_max(times, 0) * len(items)
    return like_of(items[0]).restarted(items).chosen(torch.arange(count) % len(items))


# -- numbers ---------------------------------------------------------------------------------------


def numbers_of(values: Any, *others: Any) -> torch.Tensor | None:
    """The numbers of a list as a tensor; None for lists whose items Python knows, and others.

    Args:
        values: a list, a tuple, or `x.tolist()`.
        others: numbers that are looked for in it.
    """
    if isinstance(values, Rows):
        return values.numbers()
    if not isinstance(values, (list, tuple)) or not values or not all(map(is_number, values)):
        return None
    return stacked(values) if any(map(is_of_run_time, (*values, *others))) else None


def stacked(values: Sequence[Any]) -> torch.Tensor:
    """Numbers and tensors of one element as a tensor of one axis, of the type of all."""
    rows = [as_row(value).reshape(()) for value in values]
    dtype = functools.reduce(torch.promote_types, (row.dtype for row in rows))
    return torch.stack([row.to(dtype) for row in rows])


def list_of(numbers: torch.Tensor) -> Any:
    """The numbers of a tensor as a list: of Python, where it has a length of Python."""
    if isinstance(numbers.shape[0], int):
        return List(number(one) for one in numbers.unbind(0))
    return Rows.of_numbers(numbers)


def made_set(*args: Any) -> Any:
    """`set(values)`, of values that Python knows."""
    if len(args) == 1 and numbers_of(args[0]) is not None:
        raise no_set()
    return set(*args)


def no_set() -> CannotRewriteError:
    """The error for a set of numbers of run time."""
    return CannotRewriteError(
        "a set, or a dict with keys, of numbers that are known at run time only",
        model_span(),
        "ask a list, `if n not in numbers: numbers.append(n)`, or take `torch.unique(numbers)`",
    )


def contained(value: Any, container: Any) -> Any:
    """`value in container`, where the numbers of the container are of run time; None for others."""
    if isinstance(container, Rows):
        return container.equal_to(value).any()
    numbers = numbers_of(container)
    if numbers is None or not is_number(value):
        return None
    return Rows.of_tensor(numbers).equal_to(value).any()


def index_of(values: Any, element: Any, *limits: Any) -> Any:
    """`values.index(element)`; the model raises an error where there is none."""
    if isinstance(element, OneOf):
        return each(index_of, values, element, *limits)
    numbers = numbers_of(values, element)
    if numbers is None or limits:
        return values.index(element, *limits)
    may_raise(ValueError)
    return number(Rows.of_tensor(numbers).place_of_value(element))


def count_of(values: Any, element: Any) -> Any:
    """`values.count(element)`."""
    if isinstance(element, OneOf):
        return each(count_of, values, element)
    numbers = numbers_of(values, element)
    if numbers is None:
        return values.count(element)
    return number(Rows.of_tensor(numbers).equal_to(element).sum())
