"""Lists that a program makes: the items of one may become rows of run-time number later.

A list that converted code makes is a `List`.  It stays one object, under all its names, while its
class changes between `List` and the `Rows` of a capture by source: `Items` is the place of its
items, which the store notes, reads and puts back as those of any container.
"""

from __future__ import annotations

from typing import Any


class List(list):  # type: ignore[type-arg]
    """A list of Python whose items the store may replace by rows of run-time number."""

    is_rows = False
    """Whether the number of items is known at run time only."""

    def __init_subclass__(cls) -> None:
        cls.__name__ = "list"  # to the program, and in messages

    @property  # type: ignore[misc] # what Python has for each object
    def __class__(self) -> type:
        """What the program asks for: `items.__class__ is list`."""
        return list

    def copy(self) -> Any:
        """Another list of the same items."""
        return List(self)

    def __add__(self, other: Any) -> Any:
        return List(list.__add__(self, other)) if isinstance(other, list) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return List(list.__mul__(self, times)) if isinstance(times, int) else NotImplemented

    __rmul__ = __mul__

    def held(self) -> Any:
        """The items, in a form that later changes leave as it is."""
        return list(list.__iter__(self))

    def hold(self, items: list[Any]) -> None:
        """Have other items.

        Args:
            items: what `held` gave, or another list.
        """
        _CLASS.__set__(self, type(items) if is_rows(items) else List)
        vars(self).clear()
        vars(self).update(getattr(items, "__dict__", {}))
        list.__setitem__(self, slice(None), list(list.__iter__(items)))

    def is_same(self, other: Any) -> bool:
        """Whether a list of run-time length has the same rows."""
        mine, others = vars(self), getattr(other, "__dict__", {})
        same = type(self) is type(other) and mine.keys() == others.keys()
        return same and all(others[name] is value for name, value in mine.items())


List.__name__ = "list"
_CLASS: Any = vars(object)["__class__"]


def is_rows(value: Any) -> bool:
    """Whether a value is a list whose number of items is known at run time only."""
    return isinstance(value, List) and value.is_rows


def kind_of(value: Any) -> type:
    """The class of a value; `list` for each list whose number of items Python knows."""
    return list if isinstance(value, List) and not value.is_rows else type(value)


def own_list(items: Any) -> Any:
    """A list that converted code has made."""
    return List(items) if type(items) is list else items
