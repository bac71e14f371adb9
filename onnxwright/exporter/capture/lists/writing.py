"""`items[n] = x`, `x += y` and the like of rewritten code: places and lengths of run time."""

from __future__ import annotations

import operator
from typing import Any

import torch

from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.control.runtime import noted
from onnxwright.exporter.capture.decisions.deciding import choose
from onnxwright.exporter.capture.decisions.truth import is_number
from onnxwright.exporter.capture.lists.items import item as item_of
from onnxwright.exporter.capture.lists.items import refuse_key
from onnxwright.exporter.capture.lists.list_calls import no_set
from onnxwright.exporter.capture.loops.comprehensions import extend
from onnxwright.exporter.capture.number_forms import as_tensor
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.join import common_dtype
from onnxwright.exporter.capture.values.numbers import bits, is_unknown
from onnxwright.exporter.capture.values.one_of import OneOf, among, each, settled
from onnxwright.exporter.capture.values.parts import is_leaf
from onnxwright.exporter.capture.values.picking import checked_place, place_of_key, tensor_of


def set_item(value: Any, container: Any, index: Any) -> Any:
    """`container[index] = value`; gives the container."""
    session = current()
    if session is None:
        container[index] = value
        return container
    items = settled(container)
    if isinstance(items, OneOf) or isinstance(index, OneOf):
        _set_items(value, items, index)
        return container
    keys = _keys(items, index)
    if not keys:
        refuse_key(items, index)
        items[index] = value
        return container
    session.record("Item", len(keys))
    if isinstance(items, dict):
        place = place_of_key(tensor_of(index), keys)
    else:
        place = tensor_of(index)
    place = checked_place(place, len(keys))
    for n, key in enumerate(keys):
        items[key] = _either(place == n, value, items[key])
    return container


def set_items(values: Any, *places: tuple[Any, Any]) -> None:
    """`a[i], b[j] = values`."""
    for (container, index), value in zip(places, values, strict=True):
        set_item(value, noted(container), index)


def augment_item(name: str, container: Any, index: Any, value: Any) -> Any:
    """`container[index] += value` and the like; gives the container."""
    return set_item(augment(name, each(item_of, container, index), value), container, index)


_BITS = ("and_", "or_", "xor", "lshift", "rshift")


def augment(name: str, value: Any, other: Any) -> Any:
    """`value += other` and the like: not in place for what stands for a number of Python."""
    session = current()
    if name in _BITS and session is not None and isinstance(value, (int, torch.SymInt)):
        return bits(name, value, other)
    if session is not None and isinstance(value, torch.Tensor) and value in session.numbers:
        result = getattr(operator, name)(value, other)
        if isinstance(result, torch.Tensor) and not result.ndim:
            session.numbers.add(result)
        return result
    if name == "add" and kind_of(value) is list:
        return extend(value, other)
    return getattr(operator, f"i{name.strip('_')}")(noted(value), other)


def _set_items(value: Any, container: Any, index: Any) -> None:
    """The same of one of several containers, or at one of several keys: a write to each."""

    def write(one: Any) -> None:
        set_item(value, *((noted(one), index) if of_container else (noted(container), one)))

    of_container = isinstance(container, OneOf)
    among(container if of_container else index, write)


def _keys(items: Any, index: Any) -> list[Any]:
    """The keys of which one is meant; none where Python knows which, and of rows."""
    if not is_unknown(index):
        return []
    if kind_of(items) is list:
        return list(range(len(items)))
    if type(items) is dict and is_number(index) and {type(key) for key in items} == {int}:
        session = current()
        if session is not None and not session.numbers.choices(index) <= items.keys():
            raise no_set()  # Python may add a key
        return list(items)
    return []


def _either(test: Any, one: Any, other: Any) -> Any:
    """`one if test else other`."""
    if not is_leaf(one) or not is_leaf(other) or _shape(one) != _shape(other):
        return choose(test, lambda: one, lambda: other)
    dtype = common_dtype(one, other)
    made = torch.where(test, as_tensor(one, dtype), as_tensor(other, dtype))
    session = current()
    assert session is not None
    session.numbers.note_types(made, session.numbers.types(one) | session.numbers.types(other))
    if all(not isinstance(v, torch.Tensor) or v in session.numbers for v in (one, other)):
        session.numbers.add(made)
    return made


def _shape(value: Any) -> Any:
    """The sizes of a leaf, if they are known; what equals no sizes for others."""
    sizes = tuple(value.shape) if isinstance(value, torch.Tensor) else ()
    return sizes if all(isinstance(size, int) for size in sizes) else float("nan")
