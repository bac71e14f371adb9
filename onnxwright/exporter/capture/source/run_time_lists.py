"""`RunTimeList`: what every list of a run-time length can do, and the error for a use of one.

Such a list is the result of a loop whose number of iterations is known at run time only.  Its items
are in tensors; the classes derived from this one say how.
"""

from __future__ import annotations

import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from typing_extensions import Self

from onnxwright.exporter.capture.source.errors import CannotRewriteError, ListUseError
from onnxwright.exporter.capture.source.iterators import RunTimeLengthError, taken
from onnxwright.exporter.capture.source.machinery import model_frame
from onnxwright.exporter.capture.source.regions import depth
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.places import line_of

Parts = tuple[list[str], list[Any], Callable[[list[Any]], Any]]
"""The names of the parts of a value, the parts, and what makes such a value of others."""


class RunTimeList(list, metaclass=ABCMeta):  # type: ignore[type-arg]
    """A list whose number of items is known at run time only.

    A method here that is not abstract refuses the use.

    Args:
        length: how many items there are; a number, a symbolic one or a tensor.
        inside: a tensor that has items: functions of torch look at the types of what is in a list.
    """

    is_rows = True
    """Whether a change of it makes another list."""
    changes_others = False
    """Whether it stands for a generator that changes something else where it gives an item."""

    def __init__(self, length: Any, inside: Any) -> None:
        super().__init__()
        self.length = length
        # A list that was changed in place, in a branch or a loop, is another object: they share it.
        self.identity = object()
        super().__setitem__(slice(None), [inside])

    def become(self, other: RunTimeList) -> None:
        """Have the items of another list, under all names of this one."""
        identity = self.identity
        self.__class__ = type(other)
        self.__dict__.update(other.__dict__)
        self.identity = identity
        list.__setitem__(self, slice(None), [list.__getitem__(other, 0)])

    def close(self) -> None:
        """Refuse each use from now on: a branch or a loop changed the list under another name."""
        self.__class__ = ClosedList  # type: ignore[type-abstract]  # nothing makes one

    def misuse(self, use: str) -> ListUseError:
        """The error for a use that the list does not have."""
        return misused(use)

    @abstractmethod
    def parts(self) -> Parts:
        """The tensors that sides of a decision and iterations of a loop merge."""

    @abstractmethod
    def sample(self) -> Any:
        """A tensor of the type and sizes of an item; a tuple of such for a tuple."""

    @abstractmethod
    def at(self, place: Any) -> Any:
        """The item at a place of run time, which is not negative."""

    @abstractmethod
    def copied(self, use: str) -> Self:
        """Another list of the same items, for a use; an error where a loop appends to it."""

    @abstractmethod
    def with_item(self, item: Any, first: bool = False) -> RunTimeList:
        """The list with another item at its end, or as the first."""

    @abstractmethod
    def after(self, items: Sequence[Any]) -> RunTimeList:
        """A list of items of Python, and these."""

    def with_item_at(self, index: Any, item: Any) -> RunTimeList:
        """The list with another item at a place."""
        raise self.misuse("[...] =")

    def without_item(self, index: Any = -1) -> tuple[RunTimeList, Any]:
        """The list without an item, and the item."""
        raise self.misuse(".pop")

    def restarted(self, items: Sequence[Any]) -> RunTimeList:
        """A list of other items, in the form of this one."""
        raise self.misuse("= []")

    def joined_with(self, other: RunTimeList) -> RunTimeList:
        """The list, and the items of another one."""
        raise self.misuse("+")

    def chosen(self, places: torch.Tensor) -> RunTimeList:
        """A list of the items at places of run time, a tensor of one axis."""
        raise self.misuse("[...]")

    def in_order(self, order: torch.Tensor) -> RunTimeList:
        """The items at places of run time, a tensor of one axis."""
        raise self.misuse("sorted")

    def order(self, *, reverse: bool) -> torch.Tensor | None:
        """The places of the items in their order, equal ones as they are; None without an order."""
        return None

    def whole(self, use: str) -> torch.Tensor:
        """The items as rows of one tensor, for a use of the whole list."""
        raise self.misuse(use)

    def backwards(self) -> RunTimeList:
        """The items from the last to the first."""
        found: Any = self[::-1]
        return found  # type: ignore[no-any-return]

    def equal_to(self, value: Any) -> torch.Tensor:
        """Whether each item is equal to a value, a tensor; false for rows that are not written."""
        raise self.misuse("in")

    def with_item_before(self, place: Any, item: Any) -> RunTimeList:
        """The list with another item before a place, which may be known at run time only."""
        if isinstance(place, int) and place == 0:
            return self.with_item(item, first=True)
        longer = self.with_item(item)
        last = as_place(longer.length) - 1
        place = as_place(place)
        place = torch.where(place < 0, place + last, place).clamp(min=0).minimum(last)
        places = torch.arange(longer.length)
        return longer.chosen(
            torch.where(places < place, places, torch.where(places == place, last, places - 1))
        )

    def without_place(self, place: Any) -> tuple[RunTimeList, Any]:
        """The list without the item at a place of run time, and the item."""
        length = as_place(self.length)
        place = torch.where(place < 0, place + length, place)
        places = torch.arange(self.length)
        return self.chosen(places[places != place]), self.at(place)

    def without_value(self, value: Any) -> RunTimeList:
        """The list without the first item that is equal to a value."""
        found = self.equal_to(value)
        count = found.shape[0]
        place = torch.where(found.any(), found.to(torch.int64).argmax(0), count)
        # Beyond the end, where there is none: an error of the model.
        place = torch.arange(count).index_select(0, place.reshape(1)).reshape(())
        return self.without_item(place)[0]

    def numbers(self) -> torch.Tensor | None:
        """The items as a tensor of one axis, if they are numbers."""
        return None

    def stacked(self, dim: int = 0) -> torch.Tensor:
        """`torch.stack(items, dim)`."""
        raise self.misuse("stack")

    def joined(self, dim: int = 0) -> torch.Tensor:
        """`torch.cat(items, dim)`."""
        raise self.misuse("cat")

    def padded(
        self, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
    ) -> torch.Tensor:
        """`pad_sequence(items, ...)`."""
        raise self.misuse("pad_sequence")

    def as_tensor(self, **options: Any) -> torch.Tensor:
        """`torch.tensor(items, ...)`."""
        raise self.misuse("tensor")

    def check_order(self, use: str) -> None:
        """Refuse a use that ends before the last item, of a generator that changes something."""
        if self.changes_others:
            what = f"`{use}` of a generator whose items change a variable or an object"
            place = _model_line()
            raise CannotRewriteError(what, None if place is None else line_of(*place))

    def with_items(self, items: Any) -> RunTimeList:
        """The list, and items after its own."""
        items = taken(items)
        if isinstance(items, RunTimeList):
            return self.joined_with(items)
        found: RunTimeList = self
        for item in items:
            found = found.with_item(item)
        return found

    def __iadd__(self, items: Any) -> Self:
        return changed(self, self.with_items(items))  # type: ignore[return-value]

    def __add__(self, items: Any) -> Any:
        found = self.with_items(items)
        return self.copied("+") if found is self else found

    def __radd__(self, items: Any) -> RunTimeList:
        return self.after(items)

    def __mul__(self, times: Any) -> Any:
        if not isinstance(times, int) or times < 1:
            raise self.misuse(".__mul__")
        found: RunTimeList = self.copied("*")
        for _ in range(times - 1):
            found = found.joined_with(self)
        return found

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        if type(other) is not list or other:
            raise self.misuse("==")
        return self.length == 0

    def __ne__(self, other: object) -> Any:
        if other is self:
            return False
        if type(other) is not list or other:
            raise self.misuse("!=")
        return self.length != 0

    def append(self, item: Any) -> None:
        """Add an item, under all names of the list."""
        self._change(".append", lambda: self.with_item(item))

    def extend(self, items: Any) -> None:
        """Add items, under all names of the list."""
        self._change(".extend", lambda: self.with_items(items))

    def insert(self, place: Any, item: Any) -> None:
        """Insert an item, under all names of the list."""
        self._change(".insert", lambda: self.with_item_before(place, item))

    def clear(self) -> None:
        """Take all items out of the list, under all its names."""
        self._change(".clear", lambda: self.restarted(()))

    def reverse(self) -> None:
        """Reverse the list, under all its names."""
        self._change(".reverse", self.backwards)

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        """Sort the list, under all its names."""
        order = self.order(reverse=bool(reverse)) if key is None else None
        if order is None:
            raise self.misuse(".sort")
        found = order
        self._change(".sort", lambda: self.in_order(found))

    def remove(self, value: Any) -> None:
        """Take the first item out that is equal to a value, under all names of the list."""
        self._change(".remove", lambda: self.without_value(value))

    def pop(self, index: Any = -1) -> Any:
        """Take an item out of the list, under all its names."""
        taken_out: list[Any] = []

        def rest() -> RunTimeList:
            found, item = self.without_item(index)
            taken_out.append(item)
            return found

        self._change(".pop", rest)
        return taken_out[0]

    def __setitem__(self, index: Any, item: Any) -> None:
        self._change("[...] =", lambda: self.with_item_at(index, item))

    def __delitem__(self, index: Any) -> None:
        self.pop(index)

    def _change(self, use: str, make: Callable[[], RunTimeList]) -> None:
        """Change the list under all its names; not in a branch or a loop, which may not run."""
        if depth():
            raise self.misuse(use)
        self.become(make())

    def copy(self) -> Any:
        """Another list of the same items."""
        return self.copied(".copy")

    def __len__(self) -> int:
        raise RunTimeLengthError

    def __iter__(self) -> Any:
        raise RunTimeLengthError

    def __bool__(self) -> bool:
        raise RunTimeLengthError

    __hash__ = None


class ClosedList(RunTimeList):
    """A list under a name that did not see a change of it."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") and name != "__dict__":
            return object.__getattribute__(self, name)
        raise misused("another name of it")


def changed(items: RunTimeList, made: RunTimeList) -> RunTimeList:
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


def of_same_list(before: Any, value: Any) -> Any:
    """A value; if it is a list of a run-time length, the same list as another one."""
    if isinstance(before, RunTimeList) and isinstance(value, RunTimeList):
        value.identity = before.identity
    return value


def after_changes(before: Any, after: Any, *, lost: bool = False) -> Any:
    """What a variable has after a branch or a loop, if that changed its list in place.

    Other names of the list see the change, or are refused.

    Args:
        before: what the variable had before it.
        after: what it has afterwards.
        lost: whether nothing reads the variable afterwards, so that it has what it had before.
    """
    session = current()
    if session is None or depth() or not isinstance(before, RunTimeList):
        return after
    if before is after and not lost:
        return after
    if not lost and isinstance(after, RunTimeList) and after.identity is before.identity:
        before.become(after)
        return before
    if before.identity in session.changed_lists:
        before.close()
    return after


def as_place(number: Any) -> torch.Tensor:
    """A length or a place as a tensor."""
    return number if isinstance(number, torch.Tensor) else torch.scalar_tensor(number).long()


def misused(use: str) -> ListUseError:
    """The error for a use of a list, with the line of it."""
    error = ListUseError(use)
    place = _model_line()
    if place is not None:
        error.span = line_of(*place)
    return error


def _model_line() -> tuple[str, int] | None:
    """The line of the model's Python that runs now."""
    frame = model_frame(sys._getframe(1))
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise misused(f".{name}")

    return method


for _name in (
    "index", "count", "__contains__", "__reversed__",
):  # fmt: skip
    setattr(RunTimeList, _name, _refused(_name))
