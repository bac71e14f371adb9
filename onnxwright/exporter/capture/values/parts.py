"""The parts of containers, and the tensors and numbers at the end of them."""

from __future__ import annotations

import dataclasses
import enum
from collections import defaultdict, deque
from typing import Any

import torch

from onnxwright.exporter.capture.control.places import Items
from onnxwright.exporter.capture.graphs.regions import SYMBOLS
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.number_forms import NUMBERS
from onnxwright.exporter.capture.session.program_lists import List, kind_of
from onnxwright.exporter.capture.values.rows import Parts, Rows


def is_leaf(value: Any) -> bool:
    """Whether a value can be a tensor of the graph."""
    return isinstance(value, (torch.Tensor, *NUMBERS)) and not isinstance(value, enum.Enum)


def parts_of(value: Any) -> Parts | None:
    """The parts of a container: their names, values, and what makes the container of others.

    Args:
        value: anything.

    Returns:
        Them; None if it is not a container.

    Example:
        >>> names, values, make = parts_of({"a": 1})
        >>> names, values, make([2])
        (["['a']"], [1], {'a': 2})
    """
    own = getattr(type(value), "_ow_parts", None)
    if own is not None:  # one of several values
        own_parts: Parts = own(value)
        return own_parts
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        names = [f".{n}" for n in fields] if fields else [f"[{n}]" for n in range(len(value))]
        make = (lambda v: type(value)(*v)) if fields else type(value)
        return names, list(value), make
    if isinstance(value, Rows):
        return value.parts()
    if kind_of(value) is list:
        return [f"[{n}]" for n in range(len(value))], list(value), List
    if isinstance(value, deque):
        names, most = [f"[{n}]" for n in range(len(value))], value.maxlen
        return names, list(value), lambda v: deque(v, most)
    if isinstance(value, dict):
        keys = list(value)

        def mapping(v: list[Any]) -> Any:
            entries = dict(zip(keys, v))
            if isinstance(value, defaultdict):
                return defaultdict(value.default_factory, entries)
            return entries if type(value) is dict else type(value)(entries)

        return [f"[{k!r}]" for k in keys], list(value.values()), mapping
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]

        def data(v: list[Any]) -> Any:
            instance = object.__new__(type(value))
            for name, item in zip(names, v):
                object.__setattr__(instance, name, item)
            return instance

        return [f".{n}" for n in names], [getattr(value, n) for n in names], data
    return None


def leaves_of(value: Any, around: tuple[int, ...] = ()) -> list[Any]:
    """The tensors and symbolic numbers in a value, with those of candidates by reference.

    Args:
        value: anything.
        around: the identities of the containers that it is in.

    Raises:
        CannotRewriteError: a container holds itself.
    """
    if isinstance(value, (torch.Tensor, *SYMBOLS)):
        return [value]
    if id(value) in around:
        raise CannotRewriteError(
            f"an object of type `{type(value).__name__}` that holds itself",
            advice="make it an object of a plain class, which a variable has by reference, or "
            "keep the objects in a list and the places of others in them",
        )
    if hasattr(type(value), "_ow_parts"):
        inner = [value._ow_tag, *value._ow_items.values()]
    else:
        parts = parts_of(value)
        inner = [] if parts is None else parts[1]
    return [leaf for part in inner for leaf in leaves_of(part, (*around, id(value)))]


# -- holding ---------------------------------------------------------------------------------------
# What objects of Python hold: containers that sides of a decision may change, and `__slots__`.


def items_of(container: Any) -> Any:
    """The items of a container, in a form that later changes leave as it is."""
    return Items(container).read()


def is_same_items(one: Any, two: Any) -> bool:
    """Whether a container has the same items as one before."""
    return Items(one).is_same(one, two)


def slots_of(value: Any) -> dict[str, Any]:
    """The attributes of an object that are in `__slots__`."""
    names: list[str] = []
    for kind in type(value).__mro__:
        own = vars(kind).get("__slots__", ())
        names += [own] if isinstance(own, str) else list(own)
    attributes = {n: getattr(value, n, _MISSING) for n in names if not n.startswith("__")}
    return {n: v for n, v in attributes.items() if v is not _MISSING}


_MISSING = object()
