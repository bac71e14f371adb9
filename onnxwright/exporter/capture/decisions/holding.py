"""What objects of Python hold: containers that sides of a decision may change, and `__slots__`."""

from __future__ import annotations

from typing import Any

from onnxwright.exporter.capture.control.places import Items


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
    found = {n: getattr(value, n, _MISSING) for n in names if not n.startswith("__")}
    return {n: v for n, v in found.items() if v is not _MISSING}


_MISSING = object()
