"""What a loop, or an index that is known when the model runs, takes of one of several values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnxwright.exporter.capture.values.candidates import form_key, is_choosable, is_mutable
from onnxwright.exporter.capture.values.one_of import (
    OneOf,
    by_parts,
    chosen,
    given,
    joined,
    leave_out,
    possible,
    refused,
)
from onnxwright.exporter.capture.values.picking import checked_place, tensor_of, where


def gone_through(value: Any) -> Any:
    """What a loop goes over: of one of several values, what is not None; other values as they are.

    Returns:
        It; of several containers their items, each with whether there is such an item, as a list
        of pairs in a `Places`.

    Raises:
        CannotRewriteError: Python does not know how many items a candidate has.
    """
    if not isinstance(value, OneOf):
        return value
    every = possible(value)
    items = {n: item for n, item in every.items() if item is not None}
    leave_out(value, {n: TypeError() for n in every if n not in items})
    if len(items) == 1:
        return next(iter(items.values()))
    if not all(isinstance(item, (tuple, list, dict, range, str)) for item in items.values()):
        raise refused("a loop")
    rows = {n: list(item) for n, item in items.items()}
    return Places(
        (where(value._ow_tag, {n: k < len(row) for n, row in rows.items()}),
         functools.partial(_item_of, value, rows, k))
        for k in range(max(map(len, rows.values())))
    )  # fmt: skip


class Places(list[tuple[Any, Callable[[], Any]]]):
    """Items that may not be there: whether each is, and what gives it."""


def _item_of(value: OneOf, rows: Mapping[int, list[Any]], place: int) -> Any:
    """The item at a place, where it is there."""
    numbers = possible(value)
    return joined(value, {n: rows[n][place] for n in rows if n in numbers and place < len(rows[n])})


def picked(place: Any, items: Sequence[Any]) -> Any:
    """The item at a place that is known when the model runs.

    Args:
        place: the place, from 0; the model raises an error for others.
        items: anything.

    Returns:
        The item; what a decision gives of tensors, numbers and containers.
    """
    if all(item is items[0] for item in items):
        return items[0]
    place = checked_place(tensor_of(place), len(items))
    values = dict(enumerate(items))
    if all(map(is_choosable, items)):
        return chosen(place, values)
    return given(OneOf(place, values), values)


def alike(value: Any) -> list[Any]:
    """The containers that a value may be, if it is one of several, and all have the same parts."""
    every = list(possible(value).values()) if isinstance(value, OneOf) else []
    is_one_form = len(set(map(form_key, every))) == 1
    return every if is_one_form and all(map(is_mutable, every)) else []


def as_container(value: Any) -> Any:
    """One of several containers of the same parts as a new one of these; others as they are."""
    return by_parts(value, possible(value)) if alike(value) else value
