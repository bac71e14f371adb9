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
        super().__setitem__(slice(None), [inside])

    @property
    def is_growing(self) -> bool:
        """Whether a loop writes items into a tensor that was allocated before it."""
        return False

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
        """Another list of the same items, for a use; an error while it grows."""

    @abstractmethod
    def with_item(self, item: Any, first: bool = False) -> RunTimeList:
        """The list with another item at its end, or as the first."""

    @abstractmethod
    def after(self, items: Sequence[Any]) -> RunTimeList:
        """A list of items of Python, and these."""

    def with_item_at(self, index: Any, item: Any) -> RunTimeList:
        """The list with another item at a place."""
        raise misused("[...] =")

    def without_item(self, index: Any = -1) -> tuple[RunTimeList, Any]:
        """The list without an item, and the item."""
        raise misused(".pop")

    def restarted(self, items: Sequence[Any]) -> RunTimeList:
        """A list of other items, in the form of this one."""
        raise misused("= []")

    def joined_with(self, other: RunTimeList) -> RunTimeList:
        """The list, and the items of another one."""
        raise misused("+")

    def in_order(self, order: torch.Tensor) -> RunTimeList:
        """The items at places of run time, a tensor of one axis."""
        raise misused("sorted")

    def order(self, *, reverse: bool) -> torch.Tensor | None:
        """The places of the items in their order, equal ones as they are; None without an order."""
        return None

    def whole(self, use: str) -> torch.Tensor:
        """The items as rows of one tensor, for a use of the whole list."""
        raise misused(use)

    def numbers(self) -> torch.Tensor | None:
        """The items as a tensor of one axis, if they are numbers."""
        return None

    def stacked(self, dim: int = 0) -> torch.Tensor:
        """`torch.stack(items, dim)`."""
        raise misused("stack")

    def joined(self, dim: int = 0) -> torch.Tensor:
        """`torch.cat(items, dim)`."""
        raise misused("cat")

    def padded(
        self, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
    ) -> torch.Tensor:
        """`pad_sequence(items, ...)`."""
        raise misused("pad_sequence")

    def as_tensor(self, **options: Any) -> torch.Tensor:
        """`torch.tensor(items, ...)`."""
        raise misused("tensor")

    def check_order(self, use: str) -> None:
        """Refuse a use that ends before the last item, of a generator that changes something."""
        if self.changes_others:
            what = f"`{use}` of a generator whose items change a variable or an object"
            place = _model_line()
            raise CannotRewriteError(what, None if place is None else line_of(*place))

    def __iadd__(self, items: Any) -> Self:
        items = taken(items)
        if isinstance(items, RunTimeList):
            return self.joined_with(items)  # type: ignore[return-value]
        found: Any = self
        for item in items:
            found = found.with_item(item)
        return found  # type: ignore[no-any-return]

    __add__ = __iadd__

    def __radd__(self, items: Any) -> RunTimeList:
        return self.after(items)

    def __len__(self) -> int:
        raise RunTimeLengthError

    def __iter__(self) -> Any:
        raise RunTimeLengthError

    def __bool__(self) -> bool:
        raise RunTimeLengthError

    __hash__ = None


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
    "append", "extend", "insert", "remove", "clear", "sort", "index", "pop", "reverse", "count",
    "__contains__", "__reversed__", "__setitem__", "__delitem__", "__eq__", "__mul__", "copy",
):  # fmt: skip
    setattr(RunTimeList, _name, _refused(_name))
