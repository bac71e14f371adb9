"""Iterables whose length is known at run time only: ranges to a tensor, rows of a tensor.

`for place in mask.nonzero()` goes over the places of a mask that are true; with a mask of fixed
sizes these are all its places, each with the question whether it is one.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.size_tests import (
    is_certain,
    is_certain_if_filled,
    supposing,
)
from onnxwright.exporter.capture.control.handlers import may_raise
from onnxwright.exporter.capture.graphs.memory import node_of
from onnxwright.exporter.capture.graphs.regions import SYMBOLS, tracer, value_of
from onnxwright.exporter.capture.session.errors import CannotRewriteError, ItemsReadError
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.number_forms import as_tensor
from onnxwright.exporter.capture.session.session import Session, current
from onnxwright.exporter.capture.values.iterators import (
    LazyIterator,
    note_left,
    reads_items,
    refuse_left,
    taken,
)
from onnxwright.exporter.capture.values.numbers import is_unknown
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.places import line_of

# How many iterations of a range of sizes are looked for.
_MOST_PLACES = 16


@dataclass(frozen=True)
class Counted:
    """Items by a counter.

    Fields:
        start, stop, step: the values of the counter, as of a range.
        item: gives the item for a value of the counter, a tensor.
        most: how many items there are at most, where items of Python are among them: `item` takes
            numbers of Python then.
    """

    start: Any
    stop: Any
    step: int
    item: Callable[[Any], Any]
    most: int | None = None

    def first(self) -> Any:
        """The first value of the counter."""
        return self.start

    def more(self, count: Any) -> Any:
        """Whether a value of the counter is still in the range."""
        return count < self.stop if self.step > 0 else count > self.stop

    def next(self, count: Any) -> Any:
        """The next value."""
        return count + self.step

    @property
    def length(self) -> Any:
        """How many items there are; a number below 1 for none."""
        away = self.stop - self.start if self.step > 0 else self.start - self.stop
        size = abs(self.step)
        return away if size == 1 else (away + size - 1) // size

    def unrolled(self) -> Iterator[Any]:
        """The items, one after the other; a size becomes a number of Python."""
        for count in range(int(self.start), int(self.stop), self.step):
            yield self.item(count)

    def backwards(self) -> Counted:
        """The items from the last to the first."""
        return Counted(0, self.length, 1, lambda n: self.at(self.length - 1 - n))

    @property
    def is_sized(self) -> bool:
        """Whether the length follows from the sizes of inputs."""
        return not any(
            isinstance(n, torch.Tensor) or free_unbacked_symbols(n) for n in (self.start, self.stop)
        )

    def at(self, position: Any) -> Any:
        """The item at a position, counted from 0."""
        return self.item(self.start + position * self.step)

    __iter__ = __array__ = __len__ = __bool__ = __contains__ = __getitem__ = reads_items


def same(value: Any) -> Any:
    """The value."""
    return value


def range_(*args: Any) -> Any:
    """`range(...)`; of tensors and of sizes, a `Counted`."""
    if not any(isinstance(a, (torch.Tensor, *SYMBOLS)) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if is_unknown(step):
        may_raise(ValueError)  # of 0
        # As many as fit, whichever sign the step has.
        ends = [_as_tensor(n) for n in (start, stop, step)]
        first, length = ends[0], -torch.div(ends[0] - ends[1], ends[2], rounding_mode="floor")
        return Counted(0, length.clamp(min=0), 1, lambda n: first + n * ends[2])
    if not any(isinstance(a, torch.Tensor) for a in args):
        positions = _places(start, stop, step)
        if positions is not None:
            return positions
    if not isinstance(step, int) or not step:
        return range(*args)
    return Counted(start, stop, step, same)


def _places(start: Any, stop: Any, step: Any) -> list[Any] | None:
    """The numbers of a range of sizes upwards; None where it is not known how many there are."""
    if not is_certain_if_filled(step >= 0):
        return None
    with supposing(step > 0):  # Python takes no step of 0
        for count in range(_MOST_PLACES + 1):
            if is_certain(stop - start <= count * step):
                return [start + n * step for n in range(count)]
            if not is_certain(stop - start > count * step):
                break
    return None


def _as_tensor(number: Any) -> torch.Tensor:
    return number if isinstance(number, torch.Tensor) else as_tensor(number, torch.int64)


def _lazy(kind: str, items: Sequence[Any], own: Callable[[], Any], make: Callable[[], Any]) -> Any:
    """An iterator over items: of Python's own kind, if Python knows how many there are."""
    for one in items:
        refuse_left(one)
    return LazyIterator(kind, make) if any(map(is_counted, items)) else own()


def enumerate_(items: Any, start: Any = 0) -> Any:
    """`enumerate(...)`."""

    def numbered() -> Any:
        left = taken(items)
        counter = counted(left)
        if counter is None:
            return tuple((n + start, one) for n, one in enumerate(left))
        return Counted(0, counter.length, 1, lambda n: (n + start, counter.at(n)), counter.most)

    def of_python() -> Any:
        if isinstance(start, int):
            return enumerate(items, start)
        return ((n + start, one) for n, one in enumerate(items))

    return _lazy("enumerate", [items], of_python, numbered)


def reversed_(items: Any) -> Any:
    """`reversed(...)`."""
    if isinstance(items, Rows):
        return LazyIterator("list_reverseiterator", lambda: items[::-1])
    counter = counted(items)
    return reversed(items) if counter is None else LazyIterator("range_iterator", counter.backwards)


def zip_(*items: Any, **options: Any) -> Any:
    """`zip(...)`: as long as the shortest."""
    return _lazy("zip", items, lambda: zip(*items, **options), lambda: together(items))


def map_(function: Any, *items: Any) -> Any:
    """`map(...)`: as long as the shortest."""

    def applied() -> Any:
        argument_tuples = together(items)
        counter = counted(argument_tuples)
        if counter is None:
            return tuple(function(*one) for one in argument_tuples)
        return dataclasses.replace(counter, item=lambda n: function(*counter.item(n)))

    return _lazy("map", items, lambda: map(function, *items), applied)


def is_counted(items: Any) -> bool:
    """Whether how many items there are is known at run time only."""
    return isinstance(items, LazyIterator) or counted(items) is not None


# Items of Python that have places.
_PLACED = (list, tuple, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)
# Iterators of Python that end if what they go over does, and other items that end.
_STARTED: tuple[Any, ...] = (iter([]), iter(()), iter(range(0)), iter({}))
ITERATORS: tuple[type, ...] = (zip, enumerate, reversed, map, filter, *map(type, _STARTED))
FINITE: Any = (dict, set, frozenset, str, *ITERATORS)


def together(items: Sequence[Any]) -> Any:
    """Tuples of items, as many as the shortest has; some of the numbers are of run time."""
    parts = [_part(taken(one, whole=len(items) == 1)) for one in items]
    counters = [p for p in parts if isinstance(p, Counted)]
    of_python = [len(p) for p in parts if not isinstance(p, Counted)]
    most = min([*of_python, *(f.most for f in counters if f.most is not None)], default=None)
    if not counters:
        return tuple(zip(*parts))
    if most == 0:
        return ()
    lengths = [*(f.length for f in counters), *of_python]
    shortest = functools.reduce(_smaller, lengths)
    return Counted(0, shortest, 1, lambda n: tuple(_at(p, n) for p in parts), most)


def _part(items: Any) -> Any:
    """Items by a counter, or with places."""
    counter = counted(items)
    if counter is not None or isinstance(items, _PLACED):
        return items if counter is None else counter
    if isinstance(items, range):
        return Counted(items.start, items.stop, items.step, same)
    if isinstance(items, torch.Tensor) and items.ndim:
        return Counted(0, items.shape[0], 1, lambda count: items[count])
    if isinstance(items, FINITE):
        of_python = list(items)
        note_left(items)
        return of_python
    raise ItemsReadError(line_of(*model_line()))


def _at(items: Any, place: Any) -> Any:
    """The item at a place, which an item of Python asks to be a number of Python."""
    if isinstance(items, Counted):
        if not isinstance(place, int) or items.most is not None or items.item is same:
            return items.at(place)
        return items.at(torch.tensor(place))  # beyond the end where the loop does not come
    if not isinstance(place, int):
        raise CannotRewriteError("a loop over items of Python")
    return items[place]


def _smaller(a: Any, b: Any) -> Any:
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return torch.minimum(torch.as_tensor(a), torch.as_tensor(b))
    mixed = isinstance(a, int) is not isinstance(b, int)
    if mixed and any(isinstance(n, SYMBOLS) and free_unbacked_symbols(n) for n in (a, b)):
        # A graph in a graph takes no symbolic minimum of three or more.
        return torch.minimum(*map(as_tensor, (a, b)))
    return torch.sym_min(a, b)


def counted(items: Any) -> Counted | None:
    """An iterable as items by a counter, if its length is known at run time only.

    Args:
        items: what a `for` goes over.

    Returns:
        The items; None for iterables of Python.
    """
    if isinstance(items, Counted):
        return items
    if isinstance(items, Rows):
        return Counted(0, items.length, 1, items.at)
    if isinstance(items, torch.Tensor) and items.ndim and isinstance(items.shape[0], SYMBOLS):
        return Counted(0, items.shape[0], 1, lambda count: items[count])
    return None


# A mask with more places than this is not gone through place by place.
def first_items(items: Sequence[Any], stop: Any) -> Counted:
    """`items[:stop]` of a list of Python, of which any items may be.

    Args:
        items: the list.
        stop: a whole number that is known at run time.
    """
    end = _as_tensor(stop)
    end = torch.where(end < 0, end + len(items), end)
    return Counted(0, end, 1, items.__getitem__, len(items))


_PLACES = 512


def places(items: Any) -> list[tuple[Any, Any]] | None:
    """The places that a `nonzero` may give, if its mask has fixed sizes.

    Args:
        items: what a `for` goes over.

    Returns:
        For each place whether it is there, a tensor of one truth value, and what `nonzero` gives
        for it; None for other iterables.
    """
    proxy = tracer().tensor_tracker.get(items) if isinstance(items, torch.Tensor) else None
    node = None if proxy is None else proxy.proxy.node
    if node is None or node.target is not torch.ops.aten.nonzero.default:
        return None
    mask = value_of(node.args[0])
    if not all(isinstance(n, int) for n in mask.shape) or mask.numel() > _PLACES:
        return None
    every = itertools.product(*map(range, mask.shape))
    return [(mask[place] != 0, torch.tensor(list(place))) for place in every]


# -- slices around the counter of a loop: `x[n : n + 1]` has one row -------------------------------
# Read one by one, its two bounds would be numbers that have nothing to do with each other.

_aten = torch.ops.aten


@contextmanager
def counting(count: Any, items: Counted) -> Iterator[None]:
    """In this context, a tensor is known as the counter of a loop."""
    session, node = current(), node_of(tracer(), count)
    unknown = any(isinstance(end, torch.Tensor) for end in (items.start, items.stop))
    if session is None or node is None or items.step != 1 or unknown:
        yield
        return
    session.counters[node] = (count, items)
    try:
        yield
    finally:
        del session.counters[node]


def window(start: Any, stop: Any) -> tuple[Any, Any] | None:
    """The bounds of a slice that follow from the counter of a loop by adding numbers of Python.

    Args:
        start, stop: the bounds.

    Returns:
        Them as numbers that are read at run time, of which it is known that the counter is in the
        range of the loop; None if the bounds are others.
    """
    session = current()
    if session is None or not session.counters:
        return None
    first, last = _offset(start, session), _offset(stop, session)
    if first is None or last is None or first[0] is not last[0]:
        return None
    count, items = session.counters[first[0]]
    number = count.item()
    torch._check(number >= items.start)
    torch._check(number < items.stop)
    return number + first[1], number + last[1]


def _offset(bound: Any, session: Session) -> tuple[fx.Node, int] | None:
    """The counter that a bound is made of by adding a number, and the number."""
    if not isinstance(bound, torch.Tensor) or bound.ndim:
        return None
    node, offset = node_of(tracer(), bound), 0
    while node is not None and node not in session.counters:
        added = _added(node)
        if added is None:
            return None
        node, offset = added[0], offset + added[1]
    return None if node is None else (node, offset)


def _added(node: fx.Node) -> tuple[fx.Node, int] | None:
    """What a number of Python is added to, and the number."""
    sign = {_aten.add.Tensor: 1, _aten.sub.Tensor: -1}.get(node.target)
    if sign is None or node.kwargs or len(node.args) != 2:
        return None
    left, right = node.args
    if isinstance(left, int) and sign > 0:
        left, right = right, left
    if not isinstance(left, fx.Node) or type(right) is not int:
        return None
    return left, sign * right
