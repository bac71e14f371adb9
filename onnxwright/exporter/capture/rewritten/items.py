"""`items[n]` of rewritten code, where `n` is known at run time only."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import torch

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.handlers import may_raise
from onnxwright.exporter.capture.control.places import is_array
from onnxwright.exporter.capture.control.runtime import noted
from onnxwright.exporter.capture.control.store import original
from onnxwright.exporter.capture.decisions.deciding import choose
from onnxwright.exporter.capture.decisions.operators import contains
from onnxwright.exporter.capture.decisions.truth import is_number
from onnxwright.exporter.capture.lists.list_calls import no_set, part_of
from onnxwright.exporter.capture.lists.ranges import first_items
from onnxwright.exporter.capture.loops.loops import extend
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.number_forms import as_tensor
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.session.session import current, is_noting, note, refused_here
from onnxwright.exporter.capture.values.going_through import picked
from onnxwright.exporter.capture.values.join import common_dtype
from onnxwright.exporter.capture.values.kinds import common
from onnxwright.exporter.capture.values.numbers import (
    is_of_run_time_or_size,
    is_of_sizes,
    is_unknown,
)
from onnxwright.exporter.capture.values.one_of import OneOf, among, each, settled
from onnxwright.exporter.capture.values.one_sided import refuse_name, refuse_names
from onnxwright.exporter.capture.values.parts import is_leaf
from onnxwright.exporter.capture.values.picking import checked_place, place_of_key, tensor_of
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.capture.values.symbol_operators import bits

_LISTS = (list, tuple, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)


def item(value: Any, index: Any) -> Any:
    """`value[index]`: the item of a list may be known at run time only."""
    session = current()
    if session is None:
        selected = value[index]
        if is_noting():
            _note_place(value, index)
        return selected
    if is_array(value) and _has_unknown(index):
        if value.ndim != 1 or not is_number(index):
            _refuse_array()
        value = value.tolist()
    container = isinstance(value, _LISTS) or type(value) is dict
    if kind_of(value) in _LISTS and isinstance(index, slice) and _is_open(index):
        return _part(value, index)
    unknown = is_unknown(index) or (container and is_of_sizes(index))
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


def _has_unknown(index: Any) -> bool:
    """Whether an index, or a part of it, is known at run time only."""
    return any(map(is_unknown, index if isinstance(index, tuple) else (index,)))


def _refuse_array() -> NoReturn:
    """Refuse to read or set items of an array at a place of run time."""
    with refused_here():
        raise CannotRewriteError(
            "a place of an array of numpy that is known at run time only",
            advice="make a tensor of it: `torch.from_numpy(array)[n]`",
        )


def _part(items: Any, part: slice) -> Any:
    """`items[a:b]`: tensors and numbers as rows, of other items the first ones."""
    if not len(items):
        return items[:0]
    rows = part_of(items, part) if isinstance(items, (list, tuple)) else None
    if rows is not None:
        return rows
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
        refuse_name(value, rest[0])
        if _is_number(value) and not has_attribute(hasattr, value, rest[0]):
            return rest[1]
    return bound(function)(value, *rest)


def has_attribute(function: Any, value: Any, name: Any) -> Any:
    """`hasattr(value, name)`; what stands for a number has the attributes of its class."""
    if current() is not None and function is hasattr:
        refuse_name(value, name)
        if _is_number(value):
            return common(value, lambda kind: hasattr(kind, name))
    return bound(function)(value, name)


def _is_number(value: Any) -> bool:
    """Whether a value stands for a number of Python, of one of several types."""
    session = current()
    return session is not None and (value in session.numbers or session.numbers.has_types(value))


def got(value: Any, *args: Any, **kwargs: Any) -> Any:
    """`value.get(key, default)`."""
    key = args[0] if args else None
    if current() is not None and (is_unknown(key) or is_of_sizes(key)) and not kwargs:
        if _items_of(value, key):
            default = args[1] if len(args) > 1 else None
            return choose(contains(key, value), lambda: item(value, key), lambda: default)
    if current() is not None:
        refuse_key(value, key)
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
    parts = key if isinstance(key, tuple) else (key,)
    if isinstance(container, dict) and any(map(is_of_run_time_or_size, parts)):
        with refused_here():
            raise CannotRewriteError(
                "a dict whose keys are known at run time only",
                advice="keep the values in a tensor that has a place for each key that there may "
                "be: `counts = torch.zeros(size, dtype=torch.int64)`, then `counts[key] += 1`; a "
                "cache by sizes is a function with `functools.lru_cache`",
            )


def _note_place(value: Any, index: Any) -> None:
    """Record which item Python takes, outside of a capture."""
    items = _items_of(value, index)
    if items and len(items) > 1:
        place = list(value).index(index) if isinstance(value, dict) else int(index) % len(items)
        note("Item", place, len(items))


# -- `items[n] = x`, `x += y` and the like of rewritten code: places and lengths of run time -------


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
    if is_array(items) and _has_unknown(index):
        _refuse_array()
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
    return set_item(augment(name, each(item, container, index), value), container, index)


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
    selected = torch.where(test, as_tensor(one, dtype), as_tensor(other, dtype))
    session = current()
    assert session is not None
    session.numbers.note_types(selected, session.numbers.types(one) | session.numbers.types(other))
    if all(not isinstance(v, torch.Tensor) or v in session.numbers for v in (one, other)):
        session.numbers.add(selected)
    return selected


def _shape(value: Any) -> Any:
    """The sizes of a leaf, if they are known; what equals no sizes for others."""
    sizes = tuple(value.shape) if isinstance(value, torch.Tensor) else ()
    return sizes if all(isinstance(size, int) for size in sizes) else float("nan")
