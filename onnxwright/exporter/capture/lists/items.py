"""`items[n]` of rewritten code, where `n` is known at run time only."""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.lists import kind_of
from onnxwright.exporter.capture.control.store import original
from onnxwright.exporter.capture.decisions.caught import may_raise
from onnxwright.exporter.capture.decisions.one_sided import refuse_name, refuse_names
from onnxwright.exporter.capture.decisions.truth import is_number
from onnxwright.exporter.capture.lists.list_calls import part_of
from onnxwright.exporter.capture.lists.rows import Rows
from onnxwright.exporter.capture.loops.ranges import first_items
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.session import current, is_noting, note, refused_here
from onnxwright.exporter.capture.values.going_through import picked
from onnxwright.exporter.capture.values.kinds import common
from onnxwright.exporter.capture.values.numbers import is_unknown
from onnxwright.exporter.capture.values.picking import place_of_key, tensor_of

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
    if kind_of(value) in _LISTS and isinstance(index, slice) and _is_open(index):
        return _part(value, index)
    unknown = is_unknown(index)
    if unknown:
        may_raise(KeyError if isinstance(value, dict) else IndexError)
    if session.numbers.has_types(index):
        common(index, lambda kind: kind is bool)  # an axis, not a place
    items = _items_of(value, index) if container and unknown else None
    if not items:
        refuse_key(value, index)
        refuse_names(value, index)
        return value[index]
    if all(one is items[0] for one in items):
        session.record("check left out")
        return items[0]
    place = tensor_of(index)
    if isinstance(value, dict):
        place = place_of_key(place, list(value))
    session.record("Item", len(items))
    return picked(place, items)


def _part(items: Any, part: slice) -> Any:
    """`items[a:b]`: tensors and numbers as rows, of other items the first ones."""
    if not len(items):
        return items[:0]
    found = part_of(items, part) if isinstance(items, (list, tuple)) else None
    if found is not None:
        return found
    if part.start is None or (isinstance(part.start, int) and not part.start):
        return first_items(items, part.stop)
    with refused_here():
        raise CannotRewriteError(
            "a part of a list that begins at a number known at run time only",
            advice="go over the whole list, and leave out the first items in the loop: "
            "`for n, layer in enumerate(layers): if n >= start: ...`",
        )


def _is_open(part: slice) -> bool:
    """Whether a bound of a slice is known at run time only."""
    return any(map(is_unknown, (part.start, part.stop, part.step)))


def attribute(function: Any, value: Any, *rest: Any) -> Any:
    """`getattr(value, name)`."""
    if current() is not None and function is getattr and len(rest) > 1:
        if not has_attribute(hasattr, value, rest[0]):
            return rest[1]
    return bound(function)(value, *rest)


def has_attribute(function: Any, value: Any, name: Any) -> Any:
    """`hasattr(value, name)`; what stands for a number has the attributes of its class."""
    session = current()
    if session is not None and function is hasattr:
        refuse_name(value, name)
        if value in session.numbers or session.numbers.has_types(value):
            return common(value, lambda kind: hasattr(kind, name))
    return bound(function)(value, name)


def got(value: Any, *args: Any, **kwargs: Any) -> Any:
    """`value.get(key, default)`."""
    if current() is not None:
        refuse_key(value, args[0] if args else None)
        refuse_names(value, *args[:1])
        args = (*map(original, args[:1]), *args[1:])  # a parameter may be a key
    return value.get(*args, **kwargs)


def _items_of(value: Any, index: Any) -> list[Any] | None:
    """What an index may choose from; None where Python does not take the index for that."""
    number = is_number(index)
    if isinstance(value, Rows):
        return None
    if isinstance(value, _LISTS) and (number or isinstance(index, torch.Tensor)):
        whole = not isinstance(index, torch.Tensor) or not index.dtype.is_floating_point
        return list(value) if whole else None
    # A tensor is not equal to any key.
    if type(value) is dict and number and {type(key) for key in value} == {int}:
        return list(value.values())
    return None


def refuse_key(container: Any, key: Any) -> None:
    """Refuse a key of run time of a dict that grows by it, or has keys that it cannot be."""
    if isinstance(container, dict) and is_number(key) and is_unknown(key):
        with refused_here():
            raise CannotRewriteError(
                "a dict whose keys are known at run time only",
                advice="keep the values in a tensor that has a place for each key that there may "
                "be: `counts = torch.zeros(size, dtype=torch.int64)`, then `counts[key] += 1`",
            )


def _note_place(value: Any, index: Any) -> None:
    """Record which item Python takes, outside of a capture."""
    items = _items_of(value, index)
    if items and len(items) > 1:
        place = list(value).index(index) if isinstance(value, dict) else int(index) % len(items)
        note("Item", place, len(items))
