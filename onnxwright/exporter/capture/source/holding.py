"""What objects of Python hold: to compare it, and to give it back.

Lists, dicts, sets and deques are containers, those of subclasses as well.  Of iterators, buffers
and generators of numbers it is only known whether they changed.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

_KINDS: tuple[Any, ...] = (OrderedDict, dict, list, set, deque)
PLAIN = (int, float, bool, str, bytes, complex, type(None))
"""Types whose objects nothing changes."""


def is_container(value: Any) -> bool:
    """Whether a value is a container of Python whose items may change."""
    return isinstance(value, _KINDS) and not getattr(type(value), "is_rows", False)


def items_of(container: Any) -> Any:
    """The items of a container, as a list, a dict or a set of their own."""
    if isinstance(container, dict):
        return dict(container.items())
    return set(container) if isinstance(container, set) else list(container)


def give_items(container: Any, items: Any) -> None:
    """Give a container other items."""
    if isinstance(container, list):
        container[:] = items
        return
    # A subclass may refuse its methods.
    kind = next(k for k in _KINDS if isinstance(container, k))
    kind.clear(container)
    (kind.extend if kind is deque else kind.update)(container, items)


def slots_of(value: Any) -> dict[str, Any]:
    """The attributes of an object that are in `__slots__`."""
    names: list[str] = []
    for kind in type(value).__mro__:
        own = vars(kind).get("__slots__", ())
        names += [own] if isinstance(own, str) else list(own)
    found = {n: getattr(value, n, _MISSING) for n in names if not n.startswith("__")}
    return {n: v for n, v in found.items() if v is not _MISSING}


_MISSING = object()


def is_same(one: Any, two: Any) -> bool:
    """Whether two values are the same number or text of Python."""
    return type(one) is type(two) and type(one) in PLAIN and bool(one == two)


def is_same_items(container: Any, kept: Any) -> bool:
    """Whether a container has the same items as one before."""
    if len(container) != len(kept):
        return False
    if isinstance(container, dict):
        # A subclass may make an item where it is read.
        pairs = zip(container.items(), kept.items())
        return all(a is b and (v is w or is_same(v, w)) for (a, v), (b, w) in pairs)
    return all(a is b or is_same(a, b) for a, b in zip(container, kept))
