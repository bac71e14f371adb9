"""Values that share memory in Python: when one is written into, the others cannot be read.

In numpy a view sees what is written into its array, and the array what is written into a view.
Here a write binds new elements: to what is written, and to what that is a part of (`x[0][1] = v`).
Any other value of the same memory would keep the old elements: reading it is an error, as it is in
compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from onnxwright.semantics.index_items import is_view_part
from onnxwright.types.roles import BackendValue


def as_views(result: Any, of: Any, index: Any = None) -> Any:
    """Record that values are views of another value (at `index`, if given); scalars are copies."""
    results = result if isinstance(result, (list, tuple)) else (result,)
    views: list[Any] = [one for one in results if isinstance(one, BackendValue)]
    for one in views:
        if one is of or getattr(one, "rank", None) == 0:
            continue
        group = getattr(of, "_memory", None)
        if group is None:
            group = of._memory = WeakValueDictionary()
            group[id(of)] = of
        group[id(one)] = one
        one._memory = group
        if index is not None:
            one._part_of = (of, index)
    return result


def is_view_index(index: object) -> bool:
    """Whether `x[index]` is a view in numpy: integers and slices, no arrays."""
    return all(map(is_view_part, index if isinstance(index, tuple) else (index,)))


def write(
    x: Any, value: Any, assign: Callable[[Any, Any, Any], Any], forget: Callable[[Any, Any], None]
) -> list[tuple[Any, Any]]:
    """What changes where a value is written into.

    Args:
        assign: what a value is after an assignment at an index.
        forget: is called with each other value of the same memory, and with `x`.

    Returns:
        `x` and what it is a part of, each with what it is afterwards.
    """
    changes = [(x, value)]
    part = getattr(x, "_part_of", None)
    while part is not None:
        whole, index = part
        changes.append((whole, assign(whole, index, changes[-1][1])))
        part = getattr(whole, "_part_of", None)
    group = getattr(x, "_memory", None)
    if group is not None:
        kept = {id(one) for one, _ in changes}
        for key, other in list(group.items()):
            if key not in kept:
                del group[key]
                forget(other, x)
    return changes
