"""`items[n] = x`, `items[n] += x` and `items.pop()` of rewritten code.

The place may be known at run time only, and the list may be rows of a tensor.  A list under a name
that the function binds is bound anew, so that a side of a decision leaves the other one's alone.
"""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.exporter.capture.source.deciding import choose
from onnxwright.exporter.capture.source.items import item, refuse_key
from onnxwright.exporter.capture.source.merging import common_dtype, is_leaf
from onnxwright.exporter.capture.source.one_of import checked_place, place_of_key, tensor_of
from onnxwright.exporter.capture.source.operators import augment
from onnxwright.exporter.capture.source.optional_values import plain
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.rows import Rows, changed
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.texts import Text
from onnxwright.exporter.capture.source.truth import is_number
from onnxwright.exporter.capture.source.unknown_numbers import is_unknown


def set_item(value: Any, container: Any, index: Any) -> Any:
    """`container[index] = value`; gives the container."""
    session = current()
    if session is None:
        container[index] = value
        return container
    items, index = plain(container), plain(index)
    if isinstance(items, Rows):
        return changed(items, items.with_item_at(index, value))
    keys = _keys(items, index)
    if not keys:
        refuse_key(items, index)
        items[index] = value
        return container
    session.record("Item", len(keys))
    if isinstance(index, Text):
        numbers = [n for key in keys for n in index.number_of(key)]
        place = place_of_key(tensor_of(index.number), numbers)
    elif isinstance(items, dict):
        place = place_of_key(tensor_of(index), keys)
    else:
        place = tensor_of(index)
    place = checked_place(place, len(keys))
    for n, key in enumerate(keys):
        items[key] = _either(place == n, value, items[key])
    return container


def augment_item(name: str, container: Any, index: Any, value: Any) -> Any:
    """`container[index] += value` and the like; gives the container."""
    return set_item(augment(name, item(container, index), value), container, index)


def popped(items: Any, *place: Any) -> tuple[Any, Any]:
    """`items.pop()`: the list, and the item."""
    found = plain(items)
    if isinstance(found, Rows):
        rest, item = found.without_item(*place)
        return changed(found, rest), item
    return items, items.pop(*place)


def _keys(items: Any, index: Any) -> list[Any]:
    """The keys of which one is meant; none where Python knows which."""
    if isinstance(index, Text) and type(items) is dict:
        return [key for key in items if type(key) is str and index.number_of(key)]
    if not isinstance(index, (torch.Tensor, *SYMBOLS)) or not is_unknown(index):
        return []
    if type(items) is list:
        return list(range(len(items)))
    if type(items) is dict and is_number(index) and {type(key) for key in items} == {int}:
        return list(items)
    return []


def _either(test: Any, one: Any, other: Any) -> Any:
    """`one if test else other`."""
    if not is_leaf(one) or not is_leaf(other) or _shape(one) != _shape(other):
        return choose(test, lambda: one, lambda: other)
    dtype = common_dtype(one, other)
    made = torch.where(test, _as_tensor(one, dtype), _as_tensor(other, dtype))
    session = current()
    assert session is not None
    if all(not isinstance(v, torch.Tensor) or v in session.numbers for v in (one, other)):
        session.numbers.add(made)
    return made


def _shape(value: Any) -> Any:
    """The sizes of a leaf, if they are known; what equals no sizes for others."""
    sizes = tuple(value.shape) if isinstance(value, torch.Tensor) else ()
    return sizes if all(isinstance(size, int) for size in sizes) else float("nan")


def _as_tensor(value: Any, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    return torch.scalar_tensor(value, dtype=dtype)
