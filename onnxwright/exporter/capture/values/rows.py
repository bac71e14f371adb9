"""`Rows`: a list whose number of items is known at run time only, as a struct of arrays.

A list is one object on its way through a capture, under all its names.  What changes is its class,
and with it what the place `Items(items)` of the store holds:

| where | the list is | its place holds |
|---|---|---|
| code that decides nothing | `List` | items of Python |
| a side, an iteration gives it more or fewer items | `List` | the same; the write is logged |
| the join of two lengths | `Rows` | a tensor for each leaf of the items |
| a loop that only appends to it | `BuildingRows` | what an iteration appends: a scan output |
| a loop that reads it, too | `Rows` | the same tensors, which the loop carries |
| what `tolist` or `split` gives | `Rows` | the tensor, or the parts joined beside their sizes |
| a result of the model | `torch_lists` | tensors, of which the program makes a list |

Nothing changes rows in place: a method makes other ones, and `written` gives them to the list by
`Store.write`.  So a side is taken back, and its write is joined, as those of any container.
`list_forms` has the form in which two lists are joined, `carried_lists` that of a loop.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from typing_extensions import Self

from onnxwright.exporter.capture.control.handlers import may_raise
from onnxwright.exporter.capture.graphs.regions import SYMBOLS
from onnxwright.exporter.capture.session.errors import (
    ListUseError,
    LoopChangeError,
    UnevenItemError,
    words,
)
from onnxwright.exporter.capture.session.program_lists import List
from onnxwright.exporter.capture.values.chosen_objects import note_item
from onnxwright.exporter.capture.values.columns import (
    LEAF,
    NUMBER,
    Column,
    ItemForm,
    as_row,
    column_like,
    columns_of,
    place_of,
)
from onnxwright.exporter.capture.values.iterators import reads_items, taken
from onnxwright.exporter.capture.values.list_writes import misused, refuse_effects, written

Parts = tuple[list[str], list[Any], Callable[[list[Any]], Any]]
"""The names of the parts of a value, the parts, and what makes such a value of others."""


class Rows(List):
    """A list of items in columns.

    Args:
        columns: one for each leaf of an item.
        form: what an item consists of.
    """

    is_rows = True

    def __init__(self, columns: Sequence[Column], form: ItemForm = LEAF) -> None:
        # Functions of torch look at the types of what is in a list.
        super().__init__([columns[0].values])
        self._columns, self.form = tuple(columns), form
        # Whether it stands for a generator that changes something else where it gives an item.
        self.changes_others = False

    @classmethod
    def of_tensor(cls, rows: torch.Tensor) -> Rows:
        """The list of the rows of a tensor."""
        return Rows([Column(rows)])

    @classmethod
    def of_numbers(cls, numbers: torch.Tensor) -> Rows:
        """The numbers of a tensor of one or two axes, as `tolist` gives them."""
        if numbers.ndim == 1:
            return Rows([Column(numbers)], NUMBER)
        columns = [Column(column) for column in numbers.unbind(1)]
        return Rows(columns, ItemForm(list, tuple(range(len(columns))), (NUMBER,) * len(columns)))

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the items have in each of their leaves."""
        return self._columns

    @property
    def length(self) -> Any:
        """How many items there are; a symbolic number, or one of Python."""
        return self.columns[0].count

    def _each(self, change: Callable[[Column], Column]) -> Rows:
        return Rows([change(column) for column in self.columns], self.form)

    def _paired(self, change: Callable[[Column, Any], Column], leaves: Sequence[Any]) -> Rows:
        return Rows([change(c, leaf) for c, leaf in zip(self.columns, leaves)], self.form)

    # -- parts for decisions and loops -------------------------------------------------------------

    def parts(self) -> Parts:
        """The tensors that sides of a decision and iterations of a loop merge."""
        named = [
            (path + name, tensor)
            for path, column in zip(self.form.paths(), self.columns)
            for name, tensor in column.tensors().items()
        ]

        def make_rows(tensors: Sequence[Any]) -> Rows:
            rest = iter(tensors)
            columns = [column.with_tensors(rest) for column in self.columns]
            return Rows(columns, self.form)

        return [name for name, _ in named], [tensor for _, tensor in named], make_rows

    def held(self) -> Rows:
        """The rows, which later changes leave as they are."""
        snapshot: Rows = type(self).__new__(type(self))
        snapshot.hold(self)
        return snapshot

    # -- items -------------------------------------------------------------------------------------

    @property
    def _forms(self) -> tuple[Column, ...]:
        """Columns of the types and sizes of the items."""
        return self.columns

    def leaves(self, item: Any) -> list[Any]:
        """The leaves of another item as tensors.

        Raises:
            LoopChangeError: it has other parts, or parts of other types.
            UnevenItemError: one of them has another size.
        """
        dtypes = [column.values.dtype for column in self._forms]
        leaves = list(map(as_row, self.form.leaves(item), dtypes))
        note_item(item)
        for column, leaf in zip(self._forms, leaves):
            axes = column.differing_axes(leaf)
            if axes:
                raise UnevenItemError(words(column.sample()), words(leaf), self.held(), axes)
        return leaves

    def at(self, place: Any) -> Any:
        """The item at a place, which may be known at run time only."""
        item = self.form.build(column.at(place) for column in self.columns)
        note_item(item)
        return item.item() if self.form.is_number and isinstance(place, int) else item

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            may_raise(IndexError)
            return self.at(index)
        if index.step is not None and (not isinstance(index.step, int) or index.step < 1):
            if (index.start, index.stop, index.step) != (None, None, -1):
                raise self.misuse("[...]")
        return self._each(lambda column: column.part(index))

    def chosen(self, places: torch.Tensor) -> Rows:
        """A list of the items at places of run time, a tensor of one axis."""
        return self._each(lambda column: column.take(places))

    def copy(self) -> Rows:
        """Another list of the same items."""
        return Rows(self.columns, self.form)

    def with_item(self, item: Any, first: bool = False) -> Rows:
        """The list with another item at its end, or as the first."""
        rows = self._uneven_for(item)
        return rows._paired(lambda column, leaf: column.with_row(leaf, first), rows.leaves(item))

    def _uneven_for(self, item: Any) -> Rows:
        """The same items, as those of different sizes where another item differs in one axis."""

        def uneven(column: Column, leaf: Any) -> Column:
            axes = column.differing_axes(as_row(leaf, column.values.dtype))
            return column.as_ragged(axes[0]) if len(axes) == 1 else column

        return self._paired(uneven, self.form.leaves(item))

    def with_items(self, items: Any) -> Rows:
        """The list, and items after its own."""
        items = taken(items)
        if isinstance(items, Rows):
            return self.joined_with(items)
        extended: Rows = self
        for item in items:
            extended = extended.with_item(item)
        return extended

    def joined_with(self, other: Rows) -> Rows:
        """The list, and the items of another one."""
        other = other.in_form_of(self)
        return self.in_form_of(other)._paired(Column.joined_with, other.columns)

    def after(self, items: Sequence[Any]) -> Rows:
        """A list of items of Python, and these."""
        return self.restarted(items).joined_with(self)

    def restarted(self, items: Sequence[Any]) -> Rows:
        """A list of other items, in the form of this one."""
        for item in items:
            note_item(item)
        return Rows(columns_of(items, self.form, self.columns), self.form)

    def with_item_at(self, index: Any, item: Any) -> Rows:
        """The list with another item at a place."""
        if isinstance(index, slice):
            raise self.misuse("[...] =")
        place = place_of(index, self.length)
        leaves = self.form.leaves(item)
        kinds = [_as_type(leaf, column) for leaf, column in zip(leaves, self.columns)]
        note_item(item)
        leaves = self.leaves(self.form.build(iter(kinds)))
        return self._paired(lambda column, leaf: column.with_row_at(place, leaf), leaves)

    def with_item_before(self, place: Any, item: Any) -> Rows:
        """The list with another item as the first."""
        if not isinstance(place, int) or place:
            raise self.misuse(".insert at another place than 0")
        return self.with_item(item, first=True)

    def without_item(self, index: Any = -1) -> tuple[Rows, Any]:
        """The list without an item, and the item."""
        if not isinstance(index, int):
            raise self.misuse(".pop of a place that is known at run time only")
        rest = self[:index]
        return (rest if index == -1 else rest.joined_with(self[index + 1 :])), self[index]

    def without_items(self) -> Rows:
        """An empty list of such items."""
        return self.restarted(())

    def backwards(self) -> Rows:
        """The items from the last to the first."""
        return self._each(lambda column: column.part(slice(None, None, -1)))

    def place_of_value(self, value: Any) -> torch.Tensor:
        """The place of the first item that is equal to a value; an error where there is none."""
        matches = self.equal_to(value)
        count = matches.shape[0]
        place = torch.where(matches.any(), matches.to(torch.int64).argmax(0), count)
        # Beyond the end, where there is none: an error of the model.
        return torch.arange(count).index_select(0, place.reshape(1)).reshape(())

    def by_parts(self) -> list[Rows]:
        """The items of `zip(*items)`: what all items have at each place of a tuple."""
        rest, parts = iter(self.columns), self.form.parts
        return [Rows([next(rest) for _ in part.paths()], part) for part in parts]

    def sample(self) -> Any:
        """An item of tensors without values, which no trace knows."""
        return self.form.build(column.sample() for column in self.columns)

    def like(self, axis: int | None = None) -> Rows:
        """A list of such items, of which only the types and sizes are known.

        Args:
            axis: one that has another size in each item; None for those of the list.
        """
        return self._each(lambda column: column.like(axis))

    def in_form_of(self, other: Rows) -> Rows:
        """The same items in the form of another list.

        Raises:
            LoopChangeError: the items of the other list have other parts.
        """
        columns = list(self.columns)
        if self.form != other.form:
            columns = other.form.leaves(self.form.build(iter(columns)))
        if not all(isinstance(column, Column) for column in columns):
            sides = (words(other.sample()), words(self.sample()))
            raise LoopChangeError("an item of the list", *sides)
        columns = [mine.in_form_of(theirs) for mine, theirs in zip(columns, other.columns)]
        return Rows(columns, other.form)

    # -- questions ---------------------------------------------------------------------------------

    def whole(self, use: str) -> torch.Tensor:
        """The items as rows of one tensor, for a use of the whole list."""
        columns = self.columns
        if not self.form.is_leaf or columns[0].axis is not None:
            raise self.misuse(use)
        return columns[0].values

    def numbers(self) -> torch.Tensor | None:
        """The items as a tensor of one axis, if they are numbers."""
        columns = self.columns
        is_rows = self.form.is_leaf and columns[0].axis is None
        return columns[0].values if is_rows and columns[0].values.ndim == 1 else None

    def equal_to(self, value: Any) -> torch.Tensor:
        """For each item whether it is equal to a value: a number, or numbers in the same form."""
        column_matches = []
        for column, leaf in zip(self.columns, self.form.leaves(value)):
            if column.axis is not None or column.values.ndim != 1:
                raise self.misuse("in")
            column_matches.append(
                column.values == (as_row(leaf) if isinstance(leaf, SYMBOLS) else leaf)
            )
        return functools.reduce(operator.and_, column_matches)

    def order(self, *, reverse: bool) -> torch.Tensor | None:
        """The places of numbers in their order, equal ones as they are; None for other items."""
        numbers = self.numbers()
        return None if numbers is None else numbers.sort(stable=True, descending=reverse).indices

    # -- the methods of `list` ---------------------------------------------------------------------

    def misuse(self, use: str) -> ListUseError:
        """The error for a use that the list does not have."""
        return misused(use)

    def check_order(self, use: str) -> None:
        """Refuse a use that ends before the last item, of a generator that changes something."""
        if self.changes_others:
            refuse_effects(use)

    def __iadd__(self, items: Any) -> Self:
        written(self, self.with_items(items))
        return self

    def __add__(self, items: Any) -> Any:
        extended = self.with_items(items)
        return self.copy() if extended is self else extended

    def __radd__(self, items: Any) -> Any:
        return self.after(items)

    def pop(self, index: Any = -1) -> Any:
        """Take an item out of the list, under all its names."""
        rest, item = self.without_item(index)
        written(self, rest)
        return item

    def __setitem__(self, index: Any, item: Any) -> None:
        may_raise(IndexError)
        written(self, self.with_item_at(index, item))

    def __delitem__(self, index: Any) -> None:
        self.pop(index)

    __len__ = __iter__ = __bool__ = reads_items
    __hash__ = None  # type: ignore[assignment]


_CHANGES = {
    "append": "with_item",
    "extend": "with_items",
    "insert": "with_item_before",
    "clear": "without_items",
    "reverse": "backwards",
}
# Methods of lists that change them -> what gives the rows that the change leaves.


def _in_place(change: str) -> Callable[..., None]:
    def method(self: Rows, *args: Any) -> None:
        written(self, getattr(self, change)(*args))

    return method


def _refused(use: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise self.misuse(use)

    return method


_REFUSED = {
    "index": ".index", "count": ".count", "sort": ".sort", "remove": ".remove",
    "__contains__": "in", "__reversed__": "reversed", "__eq__": "==", "__ne__": "!=",
    "__mul__": "*", "__rmul__": "*",
}  # fmt: skip
# What Python calls that would read the items one by one -> how the program writes it.


for _name, _change in _CHANGES.items():
    setattr(Rows, _name, _in_place(_change))
for _name, _use in _REFUSED.items():
    setattr(Rows, _name, _refused(_use))


def _as_type(leaf: Any, column: Column) -> Any:
    """A leaf in the type of a column, if that has all values of its own."""
    row, dtype = as_row(leaf), column.values.dtype
    return row.to(dtype) if torch.promote_types(row.dtype, dtype) == dtype else row


def like_of(sample: Any) -> Rows:
    """A list of items as a sample is one; only their types and sizes are known."""
    form = ItemForm.of(sample)
    return Rows([column_like(leaf) for leaf in form.leaves(sample)], form)
