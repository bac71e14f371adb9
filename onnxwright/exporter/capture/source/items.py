"""`items[n]` of rewritten code, where `n` is known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.conditional import conditional
from onnxwright.exporter.capture.source.lists import Grown
from onnxwright.exporter.capture.source.one_of import picked, tensor_of
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.session import current, is_noting, note
from onnxwright.exporter.capture.source.truth import is_number, is_unknown

_LISTS = (list, tuple, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)


def item(value: Any, index: Any) -> Any:
    """`value[index]`: the item of a list may be known at run time only."""
    session = current()
    if session is None:
        found = value[index]
        if is_noting():
            _note_place(value, index)
        return found
    container = isinstance(value, _LISTS) or type(value) is dict
    unknown = container and isinstance(index, (torch.Tensor, *SYMBOLS)) and is_unknown(index)
    items = _items_of(value, index) if unknown else None
    if not items:
        return value[index]
    if all(one is items[0] for one in items):
        session.record("check left out")
        return items[0]
    place = tensor_of(index)
    if isinstance(value, dict):
        place = _place_of_key(place, list(value))
    session.record("Item", len(items))
    return picked(_checked(place, len(items)), items, conditional)


def _items_of(value: Any, index: Any) -> list[Any] | None:
    """What an index may choose from; None where Python does not take the index for that."""
    number = is_number(index)
    if isinstance(value, Grown):
        return None
    if isinstance(value, _LISTS) and (number or isinstance(index, torch.Tensor)):
        whole = not isinstance(index, torch.Tensor) or not index.dtype.is_floating_point
        return list(value) if whole else None
    # A tensor is not equal to any key.
    if type(value) is dict and number and {type(key) for key in value} == {int}:
        return list(value.values())
    return None


def _note_place(value: Any, index: Any) -> None:
    """Record which item Python takes, outside of a capture."""
    items = _items_of(value, index)
    if items and len(items) > 1:
        place = list(value).index(index) if isinstance(value, dict) else int(index) % len(items)
        note("Item", place, len(items))


def _checked(place: torch.Tensor, count: int) -> torch.Tensor:
    """A place, from 0; from the end where negative.  The model raises an error for others."""
    places = torch.arange(count, device=place.device)
    return torch.ops.aten.index.Tensor(places, [place.to(torch.int64)])


def _place_of_key(wanted: torch.Tensor, keys: Sequence[int]) -> torch.Tensor:
    """The place of a key, one that does not exist for others."""
    place = torch.full_like(wanted, len(keys), dtype=torch.int64)
    for n, key in enumerate(keys):
        place = torch.where(wanted == key, n, place)
    return place
