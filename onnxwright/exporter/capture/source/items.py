"""`items[n]` of rewritten code, where `n` is known at run time only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.source.conditional import conditional
from onnxwright.exporter.capture.source.errors import CannotRewriteError, DisagreementError
from onnxwright.exporter.capture.source.list_calls import part_of
from onnxwright.exporter.capture.source.one_of import (
    OneOf,
    checked_place,
    picked,
    place_of_key,
    tensor_of,
)
from onnxwright.exporter.capture.source.optional_values import MaybeNone, by_presence, needed, plain
from onnxwright.exporter.capture.source.ranges import first_items
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.rows import Rows
from onnxwright.exporter.capture.source.session import current, is_noting, note, refused_here
from onnxwright.exporter.capture.source.short_circuit import any_
from onnxwright.exporter.capture.source.texts import Text
from onnxwright.exporter.capture.source.truth import is_number
from onnxwright.exporter.capture.source.unknown_numbers import is_unknown
from onnxwright.exporter.places import line_of

_LISTS = (list, tuple, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)


def item(value: Any, index: Any) -> Any:
    """`value[index]`: the item of a list may be known at run time only."""
    session = current()
    if session is None:
        found = value[index]
        if is_noting():
            _note_place(value, index)
        return found
    value, index = plain(value), plain(index)
    if isinstance(index, Text):
        return _item_of_text(value, index)
    if isinstance(index, OneOf) and isinstance(value, dict):
        return _item_of_choice(index, value)
    container = isinstance(value, _LISTS) or type(value) is dict
    if type(value) in _LISTS and isinstance(index, slice) and _is_open(index):
        return _part(value, index)
    unknown = container and isinstance(index, (torch.Tensor, *SYMBOLS)) and is_unknown(index)
    items = _items_of(value, index) if unknown else None
    if not items:
        refuse_key(value, index)
        return value[index]
    if all(one is items[0] for one in items):
        session.record("check left out")
        return items[0]
    place = tensor_of(index)
    if isinstance(value, dict):
        place = place_of_key(place, list(value))
    session.record("Item", len(items))
    return picked(checked_place(place, len(items)), items, conditional)


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
    bounds = (part.start, part.stop, part.step)
    return any(isinstance(n, (torch.Tensor, *SYMBOLS)) and is_unknown(n) for n in bounds)


def attribute(function: Any, value: Any, *rest: Any) -> Any:
    """`getattr(value, name)`."""
    session, name = current(), rest[0] if rest else None
    if isinstance(value, MaybeNone) and function is getattr and len(rest) > 1:
        found = attribute(function, plain(value), *rest)
        return by_presence(value, found, getattr(None, *rest))
    value = needed(value, AttributeError)
    if isinstance(value, OneOf):
        return value._ow_each(lambda one: attribute(function, one, *rest))
    if session is None or function is not getattr or not isinstance(name, Text):
        if session is not None and function is getattr and len(rest) > 1:
            _refuse_one_sided(value, name)
        return bound(function)(value, *rest)
    known = [key for key in dir(value) if name.number_of(key)]
    if len(rest) > 1 or not known:
        return bound(function)(value, *rest)
    return _by_text(name, {key: getattr(value, key) for key in known})


def has_attribute(function: Any, value: Any, name: Any) -> Any:
    """`hasattr(value, name)`."""
    if isinstance(value, MaybeNone) and function is hasattr:
        found = has_attribute(function, plain(value), name)
        return by_presence(value, found, hasattr(None, name))
    if isinstance(value, OneOf):
        return value._ow_where(lambda one: has_attribute(function, one, name))
    if current() is None or function is not hasattr or not isinstance(name, Text):
        if current() is not None and function is hasattr:
            _refuse_one_sided(value, name)
        return function(value, name)
    return any_(name == key for key in dir(value))


def _refuse_one_sided(value: Any, name: Any) -> None:
    """Refuse an attribute that only one side of a decision sets: each side then goes on alone."""
    session = current()
    found = session.one_sided.get((id(value), name)) if session is not None else None
    if found is not None:
        error = DisagreementError(str(name), "an attribute", "not set")
        error.span = line_of(*found[1])
        raise error


def got(value: Any, *args: Any, **kwargs: Any) -> Any:
    """`value.get(key, default)`."""
    text, value = args[0] if args else None, plain(value)
    if isinstance(text, OneOf) and isinstance(value, dict) and not kwargs:
        return _item_of_choice(text, value, *(args[1:] or (None,)))
    if current() is not None:
        refuse_key(value, text)
    if current() is None or type(value) is not dict or not isinstance(text, Text) or kwargs:
        return value.get(*args, **kwargs)
    default = value.get(_NO_KEY, *args[1:])
    known = {key: item for key, item in value.items() if type(key) is str and text.number_of(key)}
    return _by_text(text, known, default) if known else default


def _item_of_text(value: Any, text: Text) -> Any:
    """An item by a text that has a number of run time."""
    if isinstance(value, (dict, torch.nn.ModuleDict, torch.nn.ParameterDict)):
        known = {key: value[key] for key in value if type(key) is str and text.number_of(key)}
        if known:
            return _by_text(text, known)
    return value[text]


def _item_of_choice(key: OneOf, value: dict[Any, Any], *default: Any) -> Any:
    """An item by one of several keys: for those that do not exist, the default or an error."""
    if default or all(_exists(item, value) for item in key._ow_items):
        return key._ow_each(
            lambda one: (
                _item_of_choice(one, value, *default)
                if isinstance(one, OneOf)
                else value.get(one, *default)
            )
        )
    known = {n: one for n, one in enumerate(key._ow_items) if _exists(one, value)}
    if not known:
        return value[key._ow_items[0]]
    place = checked_place(place_of_key(tensor_of(key._ow_place), list(known)), len(known))
    return picked(place, [item(value, one) for one in known.values()], conditional)


def _exists(key: Any, value: dict[Any, Any]) -> bool:
    return all(_exists(k, value) for k in key._ow_items) if isinstance(key, OneOf) else key in value


_NO_KEY: Any = object()


def _by_text(text: Text, known: Mapping[str, Any], default: Any = _NO_KEY) -> Any:
    """The one of several values that a text names.

    For other texts the default; if there is none, the model raises an error.
    """
    pairs = [(n, item) for key, item in known.items() for n in text.number_of(key)]
    session = current()
    assert session is not None
    if session.fixed_places:
        raise CannotRewriteError("a text with the number of a place")
    items = [item for _, item in pairs] + ([default] if default is not _NO_KEY else [])
    if all(one is items[0] for one in items):
        session.record("check left out")
        return items[0]
    session.record("Item", len(items))
    place = place_of_key(tensor_of(text.number), [n for n, _ in pairs])
    return picked(checked_place(place, len(items)), items, conditional)


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
    symbolic = isinstance(key, (torch.Tensor, *SYMBOLS)) and is_number(key) and is_unknown(key)
    if isinstance(container, dict) and symbolic:
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
