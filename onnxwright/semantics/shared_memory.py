"""Values that share memory in Python: when one is written into, the others cannot be read.

In numpy a view sees what is written into its array.  Values do not change here, so that a view
would keep the old elements: reading it is an error, as it is in compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakValueDictionary

from onnxwright.semantics.index_items import is_view_part
from onnxwright.types.roles import BackendValue


class Sharing(Protocol):
    """A value that may share memory with others."""

    _memory: WeakValueDictionary[int, Any]


def as_views(made: Any, of: Any) -> Any:
    """Remember that values are views of another; scalars are copies."""
    given = made if isinstance(made, (list, tuple)) else (made,)
    views: list[Any] = [one for one in given if isinstance(one, BackendValue)]
    for one in views:
        if one is of or getattr(one, "rank", None) == 0:
            continue
        group = getattr(of, "_memory", None)
        if group is None:
            group = of._memory = WeakValueDictionary()
            group[id(of)] = of
        group[id(one)] = one
        one._memory = group
    return made


def is_view_index(index: object) -> bool:
    """Whether `x[index]` is a view in numpy: integers and slices, no arrays."""
    return all(map(is_view_part, index if isinstance(index, tuple) else (index,)))


def forget_others(x: Any, forget: Callable[[Any], None]) -> None:
    """Apply `forget` to the other values that have the memory of `x`, which is written into."""
    group = getattr(x, "_memory", None)
    if group is None:
        return
    for other in list(group.values()):
        if other is not x:
            forget(other)
    x._memory = None


__all__ = ["as_views", "forget_others", "is_view_index"]
