"""The parts of a list of run-time length: the form of an item, and a tensor for each of its leaves.

`pairs.append((box, score))` has two leaves, `[count, 4]` and `[count]`.  The leaves of items whose
sizes differ in one axis are joined along it, beside their sizes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from onnxwright.exporter.capture.graphs.regions import depth, empty
from onnxwright.exporter.capture.session.errors import LoopChangeError, words
from onnxwright.exporter.capture.session.number_forms import NUMBERS, as_tensor, dtype_of
from onnxwright.exporter.capture.session.program_lists import List, kind_of
from onnxwright.exporter.capture.values.numbers import is_number, number


@dataclass(frozen=True)
class Column:
    """One leaf of all items.

    Fields:
        values: `[count, ...]`, a row for each item; of a ragged column the items, joined.
        axis: the axis of an item that has another size in each; None if there is none.
        sizes: the sizes of that axis, `[count]`.
    """

    values: Any
    axis: int | None = None
    sizes: Any = None

    @property
    def count(self) -> Any:
        """How many items there are."""
        return (self.values if self.sizes is None else self.sizes).shape[0]

    @property
    def item_shape(self) -> list[Any]:
        """The sizes of an item; 0 for the axis that has another size in each."""
        if self.axis is None:
            return list(self.values.shape[1:])
        return [0 if n == self.axis else size for n, size in enumerate(self.values.shape)]

    def tensors(self) -> dict[str, Any]:
        """The tensors, each with a name for messages."""
        if self.axis is None:
            return {".rows": self.values}
        return {".items": self.values, ".sizes": self.sizes}

    def with_tensors(self, tensors: Iterator[Any]) -> Column:
        """A column of other tensors."""
        values = next(tensors)
        return Column(values) if self.axis is None else Column(values, self.axis, next(tensors))

    def sample(self) -> Any:
        """A tensor of the type and sizes of an item, which no trace knows."""
        return empty(self.item_shape, self.values.dtype)

    def like(self, axis: int | None = None) -> Column:
        """A column of such items, of which only the types and sizes are known.

        Args:
            axis: one that has another size in each item; None for that of the column.
        """
        axis, shape = self.axis if axis is None else axis, self.item_shape
        if axis is None:
            return Column(empty([1, *shape], self.values.dtype))
        shape[axis] = 0
        return Column(empty(shape, self.values.dtype), axis, empty([0], torch.int64))

    def empty(self) -> Column:
        """The column without items."""
        if self.axis is None:
            return Column(torch.zeros([0, *self.item_shape], dtype=self.values.dtype))
        none = torch.zeros(self.item_shape, dtype=self.values.dtype)
        return Column(none, self.axis, torch.zeros(0, dtype=torch.int64))

    def differing_axes(self, row: Any) -> list[int]:
        """The axes in which an item is not known to have the size of the others.

        Raises:
            LoopChangeError: it has another type, or number of axes.
        """
        shape = self.item_shape
        if row.dtype != self.values.dtype or row.ndim != len(shape):
            raise LoopChangeError("an item of the list", words(self.sample()), words(row))
        with disable_proxy_modes_tracing():
            return [
                n for n, (a, b) in enumerate(zip(row.shape, shape))
                if n != self.axis and not statically_known_true(a == b)
            ]  # fmt: skip

    def with_row(self, row: Any, first: bool = False) -> Column:
        """The column with another item at its end, or as the first."""
        one = Column(row[None]) if self.axis is None else _ragged_of_one(row, self.axis)
        return one.joined_with(self) if first else self.joined_with(one)

    def joined_with(self, other: Column) -> Column:
        """The items, and those of another column of the same form."""
        if self.axis is None:
            return Column(torch.cat([self.values, other.values]))
        values = torch.cat([self.values, other.values], self.axis)
        return Column(values, self.axis, torch.cat([self.sizes, other.sizes]))

    def as_ragged(self, axis: int) -> Column:
        """The same items, as those of different sizes along an axis."""
        if self.axis is not None:
            return self
        size = self.values.shape[axis + 1]
        sizes = torch.full((self.values.shape[0],), size, dtype=torch.int64)
        return Column(self.values.movedim(0, axis).flatten(axis, axis + 1), axis, sizes)

    def in_form_of(self, other: Column) -> Column:
        """The same items, as those of different sizes where those of another column are."""
        same = self.values.dtype == other.values.dtype and (
            len(self.item_shape) == len(other.item_shape)
        )
        if not same or (other.axis is not None and self.axis not in (None, other.axis)):
            raise LoopChangeError(
                "an item of the list", words(other.sample()), words(self.sample())
            )
        return self if other.axis is None else self.as_ragged(other.axis)

    def at(self, place: Any) -> Any:
        """The item at a place, which may be known at run time only."""
        if self.axis is None:
            if isinstance(place, int) and depth() and free_unbacked_symbols(self.values.shape[0]):
                place = place_of(place, self.count).reshape(1)
                return self.values.index_select(0, place).squeeze(0)
            return self.values[place]
        place = place_of(place, self.count).reshape(())
        return part_at(self.values, self.sizes, self.axis, place)

    def take(self, places: torch.Tensor) -> Column:
        """The items at places, a tensor of one axis."""
        if self.axis is None:
            return Column(self.values.index_select(0, places))
        sizes = self.sizes.index_select(0, places)
        starts = (self.sizes.cumsum(0) - self.sizes).index_select(0, places)
        moves = starts - (sizes.cumsum(0) - sizes)
        moves = torch.repeat_interleave(moves, sizes)
        positions = torch.arange(moves.shape[0]) + moves
        return Column(self.values.index_select(self.axis, positions), self.axis, sizes)

    def part(self, part: slice) -> Column:
        """The items of a slice; its step is 1 or more, or all items are taken backwards."""
        if self.axis is not None:
            return self.take(Column(torch.arange(self.count)).part(part).values)
        if (part.start, part.stop, part.step) == (None, None, -1):
            return Column(self.values.flip(0))
        return Column(self.values[part])

    def with_row_at(self, place: torch.Tensor, row: Any) -> Column:
        """The column with another item at a place."""
        if self.axis is None:
            return Column(self.values.index_put((place.reshape(1),), row[None]))
        longer, places = self.with_row(row), torch.arange(self.count)
        return longer.take(torch.where(places == place, self.count, places))


def _ragged_of_one(row: Any, axis: int) -> Column:
    return Column(row, axis, torch.full((1,), row.shape[axis], dtype=torch.int64))


def part_at(whole: torch.Tensor, sizes: torch.Tensor, axis: int, place: Any) -> torch.Tensor:
    """One of the parts that a tensor is joined of.

    Args:
        whole: the tensor.
        sizes: the sizes of the parts.
        axis: the axis along which they are joined.
        place: which of them; a number or a tensor of one.
    """
    ends = sizes.cumsum(0)
    size, end = sizes[place].item(), ends[place].item()
    torch._check(size >= 0)
    torch._check(end >= size)
    return whole.narrow(axis, end - size, size)


def as_place(number: Any) -> torch.Tensor:
    """A length or a place as a tensor."""
    return as_tensor(number, None if isinstance(number, torch.Tensor) else torch.int64)


def place_of(index: Any, length: Any) -> torch.Tensor:
    """A place in a list of a length, as Python has it, as a tensor counted from the start."""
    return as_place(length + index if isinstance(index, int) and index < 0 else index)


def as_row(item: Any, like: torch.dtype | None = None) -> torch.Tensor:
    """A leaf of an item as a tensor.

    Args:
        item: the leaf.
        like: the type of the rows that it is put beside; a float of Python takes that of floats.

    Raises:
        LoopChangeError: it is neither a tensor nor a number.
    """
    if isinstance(item, (torch.Tensor, *NUMBERS)):
        row = as_tensor(item)
        is_float = like is not None and like.is_floating_point and row.dtype == torch.float64
        return row.to(like) if is_float and is_number(item) else row
    raise LoopChangeError("an item of the list", "a tensor", words(item))


def column_like(leaf: Any) -> Column:
    """A column for a leaf of an item: its type and sizes; no trace knows the values."""
    if isinstance(leaf, torch.Tensor):
        return Column(empty([1, *leaf.shape], leaf.dtype))
    if not isinstance(leaf, NUMBERS):
        raise LoopChangeError("an item of the list", "a tensor", words(leaf))
    return Column(empty([1], dtype_of(leaf)))


@dataclass(frozen=True)
class ItemForm:
    """What an item consists of.

    Fields:
        kind: the class of a tuple, list, dict or dataclass; None for a leaf.
        keys: the names of its parts.
        parts: their forms.
        is_number: whether it is a leaf that stands for a number of Python.

    Example:
        >>> form = ItemForm.of(({"a": 1, "b": 2}, 3))
        >>> form.leaves(({"b": 5, "a": 4}, 6))
        [4, 5, 6]
        >>> form.build(iter([7, 8, 9]))
        ({'a': 7, 'b': 8}, 9)
    """

    kind: type | None = None
    keys: tuple[Any, ...] = ()
    parts: tuple[ItemForm, ...] = ()
    is_number: bool = False

    @classmethod
    def of(cls, item: Any) -> ItemForm:
        """The form of an item."""
        parts = _parts_of(item)
        if parts is None:
            return NUMBER if is_number(item) else LEAF
        return cls(kind_of(item), tuple(parts), tuple(map(cls.of, parts.values())))

    def is_alike(self, item: Any) -> bool:
        """Whether an item has the same parts; tuples of one length have, whatever their class."""
        parts = _parts_of(item)
        if self.kind is None or parts is None:
            return self.kind is None and parts is None
        if issubclass(self.kind, tuple):
            return isinstance(item, tuple) and len(item) == len(self.parts)
        return kind_of(item) is self.kind and parts.keys() == set(self.keys)

    def leaves(self, item: Any) -> list[Any]:
        """The leaves of an item, in order.

        Raises:
            LoopChangeError: it has other parts.
        """
        if self.kind is None:
            return [item]
        parts = _parts_of(item)
        if parts is None or not self.is_alike(item):
            nothing = iter([0] * len(self.paths()))
            raise LoopChangeError("an item of the list", words(self.build(nothing)), words(item))
        values = item if isinstance(item, (tuple, list)) else [parts[key] for key in self.keys]
        return [leaf for form, part in zip(self.parts, values) for leaf in form.leaves(part)]

    @property
    def is_leaf(self) -> bool:
        """Whether it is one tensor or number."""
        return self.kind is None

    def paths(self) -> list[str]:
        """What messages call the leaves."""
        if self.kind is None:
            return [""]
        names = [f".{k}" if isinstance(k, str) else f"[{k}]" for k in self.keys]
        return [n + path for n, part in zip(names, self.parts) for path in part.paths()]

    @property
    def is_ordered(self) -> bool:
        """Whether Python compares such items leaf by leaf: numbers, and tuples of them."""
        is_tuple = self.kind is None or issubclass(self.kind, (tuple, list))
        return is_tuple and all(part.is_ordered for part in self.parts)

    def build(self, leaves: Iterator[Any]) -> Any:
        """An item of other leaves."""
        if self.kind is None:
            leaf = next(leaves)
            return number(leaf) if self.is_number and isinstance(leaf, torch.Tensor) else leaf
        values = [part.build(leaves) for part in self.parts]
        if self.kind is dict:
            return dict(zip(self.keys, values))
        if self.kind is list:
            return List(values)
        if issubclass(self.kind, tuple):
            return self.kind(*values) if hasattr(self.kind, "_fields") else tuple(values)
        instance = object.__new__(self.kind)
        for name, value in zip(self.keys, values):
            object.__setattr__(instance, name, value)
        return instance


LEAF = ItemForm()
NUMBER = ItemForm(is_number=True)


def _parts_of(item: Any) -> dict[Any, Any] | None:
    """The parts of a tuple, list, dict with texts as keys or dataclass; None for anything else."""
    if (isinstance(item, tuple) or kind_of(item) is list) and item:
        return dict(zip(getattr(item, "_fields", range(len(item))), item))
    if type(item) is dict and item and all(isinstance(key, str) for key in item):
        return item
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    return None


def columns_of(items: Sequence[Any], form: ItemForm, like: Sequence[Column]) -> list[Column]:
    """The columns of items of Python.

    Args:
        items: the items.
        form: theirs.
        like: columns of the types and sizes of their leaves.

    Raises:
        LoopChangeError: an item has other parts, or a leaf has another type or number of axes.
    """
    dtypes = [column.values.dtype for column in like]
    every = [list(map(as_row, form.leaves(item), dtypes)) for item in items]
    columns = []
    for n, column in enumerate(like):
        rows = [leaves[n] for leaves in every]
        for row in rows:
            if row.dtype != column.values.dtype or row.ndim != len(column.item_shape):
                raise LoopChangeError("an item of the list", words(row), words(column.sample()))
        if column.axis is None and rows:
            columns.append(Column(torch.stack(rows)))
            continue
        new_column = column.empty()
        for row in rows:
            new_column = new_column.with_row(row)
        columns.append(new_column)
    return columns
