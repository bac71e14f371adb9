"""The methods of `list` for a list of run-time length: each change makes another list.

Outside of decisions and loops the list then has the items of the other one, under all its names.
In them rewritten code binds the name of the list to the other one: the list itself is as before
where they do not run.
"""

from __future__ import annotations

import functools
import operator
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from onnxwright.exporter.capture.source.errors import CannotRewriteError, ListUseError
from onnxwright.exporter.capture.source.iterators import RunTimeLengthError
from onnxwright.exporter.capture.source.machinery import model_line
from onnxwright.exporter.capture.source.regions import depth
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.places import line_of


class ListMethods(list, metaclass=ABCMeta):  # type: ignore[type-arg]
    """A list whose number of items is known at run time only.

    Args:
        inside: a tensor: functions of torch look at the types of what is in a list.
    """

    is_rows = True
    """Whether a change of it makes another list: it is not a container whose items change."""
    changes_others = False
    """Whether it stands for a generator that changes something else where it gives an item."""

    def __init__(self, inside: Any) -> None:
        super().__init__()
        # A list that was changed in place, in a branch or a loop, is another object: they share it.
        self.identity = object()
        super().__setitem__(slice(None), [inside])

    @property
    @abstractmethod
    def length(self) -> Any:
        """How many items there are."""

    @abstractmethod
    def copied(self) -> Any:
        """Another list of the same items."""

    @abstractmethod
    def with_items(self, items: Any) -> Any:
        """The list, and items after its own."""

    @abstractmethod
    def after(self, items: Any) -> Any:
        """A list of items of Python, and these."""

    @abstractmethod
    def with_item_at(self, index: Any, item: Any) -> Any:
        """The list with another item at a place."""

    @abstractmethod
    def without_item(self, index: Any = -1) -> tuple[Any, Any]:
        """The list without an item, and the item."""

    def misuse(self, use: str) -> ListUseError:
        """The error for a use that the list does not have."""
        return misused(use)

    def check_order(self, use: str) -> None:
        """Refuse a use that ends before the last item, of a generator that changes something."""
        if self.changes_others:
            what = f"`{use}` of a generator whose items change a variable or an object"
            place = model_line()
            raise CannotRewriteError(what, None if place is None else line_of(*place))

    def become(self, other: ListMethods) -> None:
        """Have the items of another list, under all names of this one."""
        identity = self.identity
        self.__class__ = type(other)
        self.__dict__.update(other.__dict__)
        self.identity = identity
        list.__setitem__(self, slice(None), [list.__getitem__(other, 0)])

    def __iadd__(self, items: Any) -> Self:
        return changed(self, self.with_items(items))  # type: ignore[return-value]

    def __add__(self, items: Any) -> Any:
        found = self.with_items(items)
        return self.copied() if found is self else found

    def __radd__(self, items: Any) -> Any:
        return self.after(items)

    def __mul__(self, times: Any) -> Any:
        if not isinstance(times, int) or times < 1:
            raise self.misuse(".__mul__")
        return functools.reduce(operator.add, [self] * (times - 1), self.copied())

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Any:
        return True if other is self else self._is_empty(other, "==")

    def __ne__(self, other: object) -> Any:
        if other is self:
            return False
        self._is_empty(other, "!=")
        return self.length != 0

    def _is_empty(self, other: object, use: str) -> Any:
        if type(other) is not list or other:
            raise self.misuse(use)
        return self.length == 0

    def pop(self, index: Any = -1) -> Any:
        """Take an item out of the list, under all its names."""
        rest, item = self.without_item(index)
        self._become(rest, ".pop")
        return item

    def __setitem__(self, index: Any, item: Any) -> None:
        self._become(self.with_item_at(index, item), "[...] =")

    def __delitem__(self, index: Any) -> None:
        self.pop(index)

    def _become(self, made: ListMethods, use: str) -> None:
        """Change the list under all its names; not in a branch or a loop, which may not run."""
        if depth():
            raise self.misuse(use)
        self.become(made)

    def copy(self) -> Any:
        """Another list of the same items."""
        return self.copied()

    def __len__(self) -> int:
        raise RunTimeLengthError

    def __iter__(self) -> Any:
        raise RunTimeLengthError

    def __bool__(self) -> bool:
        raise RunTimeLengthError

    __hash__ = None


CHANGES = {
    "append": "with_item",
    "extend": "with_items",
    "insert": "with_item_before",
    "clear": "without_items",
    "reverse": "backwards",
    "remove": "without_value",
    "sort": "in_order",
}
"""Methods of lists that change them -> what gives the list that the change leaves."""


def _in_place(name: str, change: str) -> Callable[..., None]:
    def method(self: ListMethods, *args: Any, **options: Any) -> None:
        self._become(getattr(self, change)(*args, **options), f".{name}")

    return method


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise self.misuse(f".{name}")

    return method


for _name, _change in CHANGES.items():
    setattr(ListMethods, _name, _in_place(_name, _change))
for _name in ("index", "count", "__contains__", "__reversed__"):
    setattr(ListMethods, _name, _refused(_name))


def changed(items: ListMethods, made: ListMethods) -> ListMethods:
    """What a variable has after a change of its list in place.

    Args:
        items: the list.
        made: one with what the change leaves.

    Returns:
        The list; in a branch or a loop, which may not run, the other one.
    """
    if made is items:
        return items
    if not depth():
        items.become(made)
        return items
    session = current()
    if session is not None:
        session.changed_lists.add(items.identity)
    made.identity = items.identity
    return made


def misused(use: str) -> ListUseError:
    """The error for a use of a list, with the line of it."""
    error = ListUseError(use)
    place = model_line()
    if place is not None:
        error.span = line_of(*place)
    return error
